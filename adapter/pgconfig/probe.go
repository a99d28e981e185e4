package pgconfig

import (
	"context"
	"crypto/rand"
	"time"
)

// probeWithin is how long a notification of our own may take.
const probeWithin = 2 * time.Second

// probe finds out once whether notifications arrive. A pooler in transaction mode
// takes LISTEN and forgets it, or gives what arrives to another client. So one is sent
// from a second connection while this one does nothing: sent on this one, it could come
// back with the answer even through a pooler. The channel is ours alone.
func (f *follower) probe(ctx context.Context) error {
	p := f.p
	own := "tickgate_probe_" + rand.Text()
	if err := f.s.listen(ctx, own); err != nil {
		return err // it was allowed a moment ago
	}
	if err := p.shout(ctx, own); err != nil {
		if ctx.Err() != nil {
			return err
		}
		p.log.Warn("not tested whether notifications arrive, will be when connected again", "error", err)
		return nil
	}
	heard, stale := false, false
	for end := time.Now().Add(probeWithin); !heard; {
		n, err := f.s.wait(ctx, time.Until(end))
		if err != nil {
			return err
		}
		if n == nil {
			break
		}
		heard = n.Channel == own
		stale = stale || f.concerns(n)
	}
	p.probed = true
	if !heard {
		p.goDeaf("notifications do not arrive, as behind a pooler in transaction mode", nil)
		return nil
	}
	if err := f.s.unlisten(ctx, own); err != nil {
		return err
	}
	if stale {
		return f.reload(ctx)
	}
	return nil
}

// shout notifies a channel from a connection of its own.
func (p *Postgres) shout(ctx context.Context, channel string) error {
	s, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	return s.notify(ctx, channel)
}

// goDeaf says once that from now on the version is asked for.
func (p *Postgres) goDeaf(why string, err error) {
	p.deaf, p.probed = true, true
	p.log.Warn(why+": asking for the version instead; PollOnly says so from the start", "every", p.cfg.Poll, "error", err)
}
