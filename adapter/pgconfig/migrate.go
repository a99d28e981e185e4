package pgconfig

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is one step of the schema: plain statements.
type migration struct {
	name string // 0001_table
	sql  string
}

// migrations returns all steps in order; the first is version 1.
func migrations() []migration {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql") // sorted
	if err != nil {
		panic(err) // the pattern is a constant
	}
	var all []migration
	for _, file := range files {
		text, err := migrationFiles.ReadFile(file)
		if err != nil {
			panic(err) // it was listed
		}
		name := strings.TrimSuffix(strings.TrimPrefix(file, "migrations/"), ".sql")
		all = append(all, migration{name, string(text)})
	}
	return all
}

// prelude makes one Init wait for the other, keeps all names in the schema that comes
// first in the search path, and makes the table of the steps that were done.
const prelude = `DO $$ BEGIN IF current_schema() IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_schema_name', MESSAGE = 'no schema of the search path exists';
END IF; END $$;
SELECT pg_advisory_xact_lock(7310293158420577);
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
CREATE TABLE IF NOT EXISTS rate_limit_config_schema (
    version    integer     PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
`

// absent says, for each migration, when what it made is gone although it was done: where
// somebody dropped a table, or its triggers with it.
var absent = [...]string{
	"to_regclass('rate_limit_config') IS NULL",
	`to_regclass('rate_limit_config_version') IS NULL OR 3 > (
        SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass('rate_limit_config')
        AND tgname IN ('rate_limit_config_changed', 'rate_limit_config_rules_insert', 'rate_limit_config_rules_update'))`,
	`to_regprocedure('rate_limit_config_span(interval, text)') IS NULL OR NOT EXISTS (
        SELECT FROM pg_proc WHERE oid = to_regprocedure('rate_limit_config_rules()') AND prosrc LIKE '%rate_limit_config_span%')`,
}

// forget has the migrations done again from the first one on of which something is gone.
func forget() string {
	var b strings.Builder
	b.WriteString("DELETE FROM rate_limit_config_schema WHERE version >= CASE\n")
	fmt.Fprintf(&b, "    WHEN (SELECT max(version) FROM rate_limit_config_schema) > %d THEN NULL -- of a newer program\n", len(absent))
	for i, condition := range absent {
		fmt.Fprintf(&b, "    WHEN %s THEN %d\n", condition, i+1)
	}
	b.WriteString("    END;\n")
	return b.String()
}

// steps are the statements after the prelude: each migration where it was not done.
func steps() string {
	var b strings.Builder
	for i, m := range migrations() {
		fmt.Fprintf(&b, `
DO $migration$ BEGIN -- %s
IF NOT EXISTS (SELECT FROM rate_limit_config_schema WHERE version >= %d) THEN
%s
INSERT INTO rate_limit_config_schema (version) VALUES (%d);
END IF;
END $migration$;
`, m.name, i+1, m.sql, i+1)
	}
	b.WriteString("\nSELECT pg_notify('config_updates', 'rate_limit_config');\n")
	return b.String()
}

// SQL returns what [Init] executes, as a script for those who change schemas by other
// means. It may be run again.
func SQL() string {
	return "BEGIN;\n" + prelude + forget() + steps() + "COMMIT;\n"
}

// Init makes the table rate_limit_config, its triggers and its version in the schema
// that comes first in the connection's search path, or brings them up to date, in one
// transaction. It returns the names of the steps that were done, none if everything was
// there. What was dropped since is made again. Two at a time wait for each other. The
// table is empty at first: see [Save].
//
// The role needs the right to create in the schema. Afterwards a role that only reads
// needs SELECT on rate_limit_config and rate_limit_config_version; one that changes
// limits needs what it does on rate_limit_config, and nothing else.
func Init(ctx context.Context, conn *pgx.Conn) (done []string, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := conn.PgConn().Exec(ctx, prelude).ReadAll(); err != nil {
			return err
		}
		if _, err := conn.PgConn().Exec(ctx, forget()).ReadAll(); err != nil {
			return err
		}
		var version int
		row := tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM rate_limit_config_schema", pgx.QueryExecModeExec)
		if err := row.Scan(&version); err != nil {
			return err
		}
		all := migrations()
		if version > len(all) {
			return fmt.Errorf("the schema has version %d, this program knows %d: use a newer program", version, len(all))
		}
		if _, err := conn.PgConn().Exec(ctx, steps()).ReadAll(); err != nil {
			return foreign(err)
		}
		for _, m := range all[version:] {
			done = append(done, m.name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("pgconfig: init: %w", explain(err))
	}
	return done, nil
}

// foreign adds to an error of a migration what to do where there is a table of a name that
// it takes, without the columns, or the key, that it has.
func foreign(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "42703" || pg.Code == "42P10") {
		return fmt.Errorf("%s: a table with a name that begins with rate_limit_config was not made by this program: rename or drop it", pg.Message)
	}
	return err
}

// explain adds to an error of the server what to do about it.
func explain(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	switch pg.Code {
	case "42P01", "42703": // undefined table, undefined column
		return fmt.Errorf(`%w: run "tickgate pg init", or mend the search path`, err)
	case "42P07": // duplicate table
		return fmt.Errorf("%w, not made by this program: rename or drop it", err)
	case "42501": // insufficient privilege
		return fmt.Errorf("%w: grant it, or use another role", err)
	case "3F000": // invalid schema name
		return fmt.Errorf("%w: create one, or mend the search path", err)
	}
	return err
}
