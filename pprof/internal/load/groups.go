package load

// Group is the cases whose profiles are written together.
type Group struct {
	Name  string
	What  string // one line
	Cases []Case
}

// Groups are all of them. A load that needs something to run beside, such as a budget
// kept in a Redis server, is one more group in a file of its own, added here; its
// Open starts what it needs, and its Beside is what keeps the budget.
func Groups() []Group {
	return []Group{
		{"hot", "every way of asking, on keys that are there, admitted", hot()},
		{"trading", "windows, several limits, several keys, urgent calls, shared budgets", trading()},
		{"churn", "keys that nobody has seen before, with evictions", churn()},
		{"apply", "decisions while the policies are replaced", apply()},
		{"denials", "calls that are denied, for every reason", denials()},
	}
}
