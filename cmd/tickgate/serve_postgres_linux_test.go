package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pgInit runs tickgate pg init.
func pgInit(t *testing.T, db *postgresServer, args ...string) result {
	t.Helper()
	return command(t, "", append([]string{"pg", "init", "--postgres", db.url()}, args...)...)
}

// limited waits until a limit of the check API is in force, and returns how long that
// took.
func (s *served) limited(t *testing.T, endpoint, limit string) time.Duration {
	t.Helper()
	begun := time.Now()
	soon(t, endpoint+" is "+limit, func() bool {
		res := s.ask(t, "", "POST", "/v1/take", `{"apikey":"look","endpoint":"`+endpoint+`","n":0}`, "Content-Type", "application/json")
		return strings.Contains(res.text, `"limit":"`+limit+`"`)
	})
	return time.Since(begun)
}

func TestServePostgres(t *testing.T) {
	db := startPostgres(t)

	r := pgInit(t, db)
	require.Equal(t, exitOK, r.status, r.stderr)
	require.Contains(t, r.stdout, "done: 0001_")
	require.Contains(t, r.stdout, "it is empty")
	r = command(t, "", "serve", "--postgres", db.url(), "--listen", "127.0.0.1:0", "--admin", "off")
	require.Equal(t, exitFailed, r.status, "an empty table is no good to begin with")
	require.Contains(t, r.stderr, "postgresql: ")
	r = pgInit(t, db, "--defaults")
	require.Equal(t, exitOK, r.status, r.stderr)
	require.Contains(t, r.stdout, "the table was up to date")
	require.Contains(t, r.stdout, "saved: policies for 4 endpoints")
	r = pgInit(t, db, "--defaults")
	require.Equal(t, exitFailed, r.status)
	require.Contains(t, r.stderr, "--replace lets them go")
	policies := write(t, "p.yaml", "- {endpoint: trading.submit_order, limits: [100/s]}\n- {endpoint: config.update, limits: [10/s]}\n")
	require.Equal(t, exitOK, pgInit(t, db, "--policies", policies, "--replace").status)

	status, out, faults := checked(t, map[string]string{"TICKGATE_POSTGRES": db.url()}, "--connect")
	require.Equal(t, exitOK, status, faults)
	require.Regexp(t, `config\.update +10/s +postgresql`, out)
	_, out, _ = checked(t, map[string]string{"TICKGATE_POSTGRES": db.url()})
	require.Contains(t, out, "--connect reads them")

	// The seed's statement changes a running gate; layers above stay.
	s := serve(t, map[string]string{"TICKGATE_POSTGRES": db.url()}, "--set", "config.update=3/s")
	s.limited(t, "trading.submit_order", "100/s")
	db.exec("UPDATE rate_limit_config SET capacity = 200, refill_rate = 200 WHERE endpoint = 'trading.submit_order'",
		"NOTIFY config_updates, 'rate_limit_config'")
	require.Less(t, s.limited(t, "trading.submit_order", "200/s"), 2*time.Second)
	s.limited(t, "config.update", "3/s")
	soon(t, "the page shows the connection", func() bool {
		for _, one := range s.page(t).Sources {
			if one.Name == "postgresql" {
				return one.Connection == "listening" && one.Applied >= 2
			}
		}
		return false
	})
	require.Contains(t, s.page(t).Changes[0].Who, "postgresql@")

	// A row that makes no sense leaves the last good set, and is shown.
	db.exec("ALTER TABLE rate_limit_config DROP CONSTRAINT rate_limit_config_refill_rate",
		"ALTER TABLE rate_limit_config DROP CONSTRAINT rate_limit_config_one_a_day_to_2e9_a_second",
		"UPDATE rate_limit_config SET capacity = NULL, refill_rate = -7 WHERE endpoint = 'trading.submit_order'")
	soon(t, "the metric counts it", func() bool {
		return s.metric(t, `tickgate_config_reloads_total{result="refused",source="postgresql"}`) != "0"
	})
	fault, _, _ := s.source(t, "postgresql")
	require.Contains(t, fault, "trading.submit_order")
	require.Contains(t, s.String(), "no new policies, the last good ones stay")
	s.limited(t, "trading.submit_order", "200/s")

	// The listener killed, and a change meanwhile.
	db.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tickgate'",
		"UPDATE rate_limit_config SET capacity = 300, refill_rate = 300 WHERE endpoint = 'trading.submit_order'")
	s.limited(t, "trading.submit_order", "300/s")
	fault, _, _ = s.source(t, "postgresql")
	require.Empty(t, fault)

	// A signal reads the table at once, and a table that is emptied is refused.
	db.exec("ALTER TABLE rate_limit_config DISABLE TRIGGER ALL", "DELETE FROM rate_limit_config")
	s.hangup <- struct{}{}
	soon(t, "the empty table is refused", func() bool { fault, _, _ := s.source(t, "postgresql"); return fault != "" })
	s.limited(t, "trading.submit_order", "300/s")
	s.stop()
	require.Equal(t, exitOK, <-s.status)
}
