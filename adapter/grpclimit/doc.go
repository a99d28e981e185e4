// Package grpclimit puts a [tickgate.Gate] in front of gRPC calls: interceptors
// for unary calls and streams, on the server and on the client.
//
//	limit, err := grpclimit.NewServer(grpclimit.Config{
//		Gate: gate,
//		Key:  func(ctx context.Context, _ string, _ any) (string, error) { return callerOf(ctx) },
//	})
//	…
//	server := grpc.NewServer(grpc.ChainUnaryInterceptor(authenticate, limit.Unary),
//		grpc.ChainStreamInterceptor(authenticateStream, limit.Stream))
//
// The apikey is what Key says, the endpoint is the full method, such as
// "/orders.v1.Orders/Submit", and a call costs one token unless Cost says
// otherwise.
//
// # What a denied caller gets
//
// RESOURCE_EXHAUSTED, with these details:
//
//   - RetryInfo, the exact time until the call would pass; left out where it never
//     would, or where time alone does not decide;
//   - QuotaFailure, with the endpoint as subject and the limit's name as quota id;
//   - ErrorInfo, reason RATE_LIMIT_EXCEEDED, the domain of the configuration, and the
//     metadata endpoint, limit and cause.
//
// The key is in none of them. A server also sends the trailer
// grpc-retry-pushback-ms, RetryInfo in milliseconds rounded up, or -1 where RetryInfo
// is left out: clients with a retry policy that names RESOURCE_EXHAUSTED then retry at
// that time, or not at all, instead of guessing. grpc-go honours it only if nothing
// but trailers was sent, so put the server's interceptor before every one that calls
// grpc.SetHeader. For a stream that means: at its opening; a message that is denied
// later ends the stream with the same status, and no client retries it by itself.
//
// # What is not a denial
//
// A call that could not be decided is a [Fault]: there is no key, Key failed, no
// policy answers for the endpoint. It ends with INTERNAL, or as Config.OnFault
// chooses; [FailOpen] lets it pass.
//
// # Streams
//
// A stream is limited at its opening and, where Config.Messages says so, at every
// message received, sent, or both. All count at the same endpoint unless
// Config.Endpoint tells them apart.
//
// # Clients
//
// A client's call that the gate denies fails at once with the same status, and
// nothing is sent; with Config.Wait it waits its turn instead. Interceptors stand
// outside of grpc-go's retries: a call counts once, however often it is tried.
package grpclimit
