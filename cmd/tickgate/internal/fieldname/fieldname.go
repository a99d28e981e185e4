// Package fieldname compares the names of header fields as servers do that hand them
// on as variables.
package fieldname

// Same reports whether some server may take two names for one. Case never matters; and
// where fields become variables, as by CGI, WSGI and their like, a hyphen, an underscore
// and other marks become one and the same character.
func Same(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if fold(a[i]) != fold(b[i]) {
			return false
		}
	}
	return true
}

// HasPrefix reports whether name begins as prefix does, by the rule of [Same].
func HasPrefix(name, prefix string) bool {
	return len(name) >= len(prefix) && Same(name[:len(prefix)], prefix)
}

func fold(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c + ('a' - 'A')
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		return c
	}
	return '_'
}
