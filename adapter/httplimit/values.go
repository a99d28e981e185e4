package httplimit

// values is room for the header values of one response, in one piece of memory. It is
// not shared between responses, though most values are the same for all: whoever
// handles a response may write into the values that it finds.
type values struct{ free []string }

func makeValues(n int) values { return values{make([]string, n)} }

// list returns a list of one value. It has no room to grow in place, where the next
// list is.
func (v *values) list(s string) []string {
	if len(v.free) == 0 {
		return []string{s}
	}
	out := v.free[:1:1]
	v.free = v.free[1:]
	out[0] = s
	return out
}

// join returns first with one value more. The list first itself is left as it is.
func (v *values) join(first []string, s string) []string {
	if len(first) == 0 {
		return v.list(s)
	}
	return append(first[:len(first):len(first)], s)
}
