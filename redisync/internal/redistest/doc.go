// Package redistest starts real Redis servers for tests: one, with replicas, a
// cluster, or watched by sentinels. Each has its own folder and a free port on
// 127.0.0.1, answers when Start returns, and is killed by its process id when
// the test ends; on Linux also when the test binary dies.
//
//	srv := redistest.Start(t, redistest.Options{})
//	client, err := redisync.Dial(ctx, srv.URL())
//	srv.Freeze()   // SIGSTOP: connections stay open, nothing is answered
//	srv.Thaw()
//	srv.Kill()     // SIGKILL: without persistence all data is lost
//	srv.Restart()  // same port and folder
//
// A test is skipped where no server is installed. The binary is the one named
// by TICKGATE_REDIS_SERVER, else redis-server, else valkey-server.
//
// Methods may be called from any goroutine, but Freeze, Thaw, Kill and Restart
// of one server by one at a time. They end the test on failure, so what runs
// beside the test's own goroutine should use the Try forms.
package redistest
