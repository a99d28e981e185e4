package rls

import (
	"context"
	"runtime/pprof"

	"google.golang.org/grpc"
)

// labels tell profiles what a goroutine does.
var labels = pprof.Labels("path", "rls")

// labelled is between gRPC and the service: it labels the goroutine, which is the call's own.
func labelled(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx = pprof.WithLabels(ctx, labels)
	pprof.SetGoroutineLabels(ctx)
	return next(ctx, req)
}
