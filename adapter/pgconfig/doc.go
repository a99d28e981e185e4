// Package pgconfig keeps the policies of a running [tickgate.Gate] in step with where
// they are kept: a PostgreSQL table, a file, the environment.
//
//	pg, err := pgconfig.NewPostgres(pgconfig.PostgresConfig{Conn: conn}) // conn: pgx.ParseConfig
//	…
//	stack, err := pgconfig.Compose(pgconfig.Sources{PostgreSQL: pg, Environment: os.LookupEnv})
//	…
//	set, err := stack.Load(ctx)                                 // once, now
//	gate, err := tickgate.New(tickgate.Config{Policies: set})
//	…
//	go stack.Run(ctx, gate)                                     // from then on
//
// # Order
//
// Five layers, each over the ones below it:
//
//	last          what a program adds, such as the assignments of its command line
//	environment   policy.FromEnv, on what the layers below say
//	file          JSON or YAML
//	PostgreSQL    the table rate_limit_config
//	defaults      policy.Default, unless others are given
//
// A source that names an endpoint says everything about it: its policy takes the place
// of the one below, limits are not mixed. Only the environment changes single limits,
// those that its variables stand for, and [Sources].Last does what it likes. An endpoint
// that a layer no longer names falls back to the layer below. What all say together is
// judged as a whole, also by [Sources].Check, and comes into force as a whole.
//
// # Faults
//
// A source is read whole, judged whole, and only then takes the place of what it said
// before. On any fault, be it a server that is gone, a row that makes no sense, or a
// file half written, the last good set stays in force; the fault is logged once,
// counted in [Stats], and is LastError until a later reading is good. A table or file
// without policies is a fault too, unless [PostgresConfig].AllowEmpty says otherwise.
//
// # PostgreSQL
//
// [Init] makes the table and its triggers, [Save] fills it. Any change notifies the
// channel config_updates; a [Postgres] listens there on a connection of its own and
// reads the whole table in one snapshot: after LISTEN, 50 ms after a notification, and
// every 60 s although nothing was heard. A notification is only a hint. Where none
// arrive, as behind a pooler in transaction mode, it finds out when first connected,
// for which it opens a second connection for a moment, and asks for the version once a
// second instead.
//
// # Audit
//
// A change is applied in the name of the source that made it and of its version, such
// as "postgresql@12" or "file@3f2a9c01d2e4", which [tickgate.Config].Audit is told. Who
// made version 12 of the table stands in rate_limit_config_version.
package pgconfig
