package grpclimit

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// FixedKey is the same key for every call: for a client that has one account, or
// where the endpoint alone is limited.
func FixedKey(key string) KeyFunc {
	return func(context.Context, string, any) (string, error) { return key, nil }
}

// MetadataKey takes the key from a server's incoming metadata, names compared without
// case. Metadata is what the caller says: use it where something in front, a proxy or
// an interceptor, has checked the value, and else take the caller from the context
// that your authentication made.
//
// Without the name, or with an empty value, there is no key: a [Fault]. More than one
// value is answered with INVALID_ARGUMENT, since nobody can say which was checked.
func MetadataKey(name string) KeyFunc {
	ambiguous := status.Errorf(codes.InvalidArgument, "rate limit: more than one value of %q in the metadata: send one", name)
	return func(ctx context.Context, _ string, _ any) (string, error) {
		switch v := metadata.ValueFromIncomingContext(ctx, name); len(v) {
		case 0:
			return "", nil
		case 1:
			return v[0], nil
		}
		return "", ambiguous
	}
}
