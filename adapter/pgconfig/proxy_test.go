package pgconfig

import (
	"context"
	"encoding/binary"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// withoutNotifications dials connections on which the server's notifications are left
// out. Each message is a letter, a length that counts itself, and a body.
func withoutNotifications(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		server, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		client, ours := net.Pipe()
		go func() {
			_, _ = io.Copy(server, ours)
			_ = server.Close()
		}()
		go func() {
			defer func() { _ = ours.Close() }()
			for {
				head := make([]byte, 5)
				if _, err := io.ReadFull(server, head); err != nil {
					return
				}
				body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
				if _, err := io.ReadFull(server, body); err != nil {
					return
				}
				if head[0] == 'A' { // NotificationResponse
					continue
				}
				if _, err := ours.Write(append(head, body...)); err != nil {
					return
				}
			}
		}()
		return client, nil
	}
}
