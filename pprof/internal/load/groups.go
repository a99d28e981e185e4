package load

// Group is the cases whose profiles are written together.
type Group struct {
	Name  string
	What  string // one line
	Cases []Case
}

// Groups are all of them.
func Groups() []Group {
	return []Group{
		{"hot", "every way of asking, on keys that are there, admitted", hot()},
		{"trading", "windows, several limits, several keys, urgent calls, shared budgets", trading()},
		{"churn", "keys that nobody has seen before, with evictions", churn()},
		{"apply", "decisions while the policies are replaced", apply()},
		{"redis", "budgets that gates share through a redis-server, under load", redis()},
		{"denials", "calls that are denied, for every reason", denials()},
	}
}
