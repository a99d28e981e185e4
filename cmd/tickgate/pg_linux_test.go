package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A table that was dropped is made again, and filled: its steps are not taken for done.
func TestPGInitAfterADrop(t *testing.T) {
	db := startPostgres(t)
	require.Equal(t, exitOK, pgInit(t, db, "--defaults").status)
	db.exec("DROP TABLE rate_limit_config")
	r := pgInit(t, db, "--defaults")
	require.Equal(t, exitOK, r.status, r.stderr)
	require.Contains(t, r.stdout, "done: 0001_table\n")
	require.Contains(t, r.stdout, "saved: policies for 4 endpoints")
	require.NotContains(t, r.stdout, "was up to date")
	require.Contains(t, pgInit(t, db).stdout, "the table was up to date")
}
