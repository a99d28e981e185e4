package policy

import "strings"

// limitForm is what every error about the form of a limit ends with.
const limitForm = `write N/[k]unit[ burst=B][ reserve=R][ rolling|aligned|from-first][ skew=D][ name=X], ` +
	`as in "100/s", "6000/m burst=200" or "10/1s rolling", or "unlimited" or "deny"`

// ParseLimit reads a limit in the form
//
//	N/[k]unit[ burst=B][ reserve=R][ rolling|aligned|from-first|token-bucket][ skew=D][ name=X]
//
// or "unlimited" or "deny", each with an optional name. The rate is read as by
// [ParseRate]. Options may come in any order, each once. Burst means the
// bucket's capacity (as in x/time/rate), reserve the part of the capacity that is
// for urgent calls, skew a time such as 50ms; see [Limit]. A name with spaces is
// written name="a name".
//
// What it returns is valid, and String prints it canonically. Anything else is
// one [*ConfigError] with all that is wrong, in one line.
func ParseLimit(s string) (Limit, error) { return parseLimit("limit", s) }

// ParseAssign reads "endpoint=limit", such as "order.new=100/s burst=20". The
// endpoint is what stands before the first "=", without spaces at its ends.
// Faults are a [*ConfigError].
func ParseAssign(s string) (endpoint string, l Limit, err error) {
	endpoint, text, ok := strings.Cut(s, "=")
	endpoint = strings.TrimSpace(endpoint)
	bad := func(reason string) (string, Limit, error) {
		return "", Limit{}, &ConfigError{
			Field: "assignment", Value: s,
			Reason: reason + `; write endpoint=limit, as in "order.new=100/s burst=20"`,
		}
	}
	// "100/s burst=20" without an endpoint would be an endpoint "100/s burst".
	if _, err := ParseLimit(s); !ok || err == nil {
		return bad("no endpoint")
	}
	if reason := endpointFault(endpoint); reason != "" {
		return bad("the endpoint " + reason)
	}
	if l, err = parseLimit(endpoint, text); err != nil {
		return "", Limit{}, err
	}
	return endpoint, l, nil
}

// parseLimit is ParseLimit with the field that its error names.
func parseLimit(field, s string) (Limit, error) {
	l, reason := readLimit(s)
	if reason == "" {
		var reasons []string
		limitFaults(l, func(field, _, reason string) { reasons = append(reasons, field+" "+reason) })
		reason = strings.Join(reasons, ", ")
	}
	if reason != "" {
		return Limit{}, &ConfigError{Field: field, Value: s, Reason: reason + "; " + limitForm}
	}
	return l, nil
}

// readLimit reads the form and does not judge the numbers.
func readLimit(s string) (Limit, string) {
	words, reason := splitWords(s)
	if reason != "" {
		return Limit{}, reason
	}
	if len(words) == 0 {
		return Limit{}, "empty"
	}
	var l Limit
	head := words[0]
	standing := head == Unlimited.String() || head == Deny.String()
	if standing {
		l.Window, _ = windowNamed(head)
	} else {
		r, reason := readRate(head)
		if reason != "" {
			return Limit{}, reason
		}
		l.Tokens, l.Per = r.Tokens, r.Per
	}
	var seenBurst, seenReserve, seenWindow, seenSkew, seenName bool
	for _, word := range words[1:] {
		key, value, isOption := strings.Cut(word, "=")
		window, isWindow := windowNamed(word)
		switch {
		case isOption && key == "name":
			if seenName {
				return Limit{}, "name given twice"
			}
			if value == "" {
				return Limit{}, "name must not be empty"
			}
			seenName, l.Name = true, value
		case standing:
			return Limit{}, head + " takes nothing but a name"
		case isOption && key == "burst":
			if seenBurst {
				return Limit{}, "burst given twice"
			}
			if l.Burst, reason = wholeNumber(value); reason != "" {
				return Limit{}, "burst " + reason
			}
			if l.Burst == 0 {
				return Limit{}, "burst must be above zero, or left out"
			}
			seenBurst = true
		case isOption && key == "reserve":
			if seenReserve {
				return Limit{}, "reserve given twice"
			}
			if l.Reserve, reason = wholeNumber(value); reason != "" {
				return Limit{}, "reserve " + reason
			}
			if l.Reserve == 0 {
				return Limit{}, "reserve must be above zero, or left out"
			}
			seenReserve = true
		case isOption && key == "skew":
			if seenSkew {
				return Limit{}, "skew given twice"
			}
			if l.Skew, reason = readPeriod(value); reason != "" {
				return Limit{}, "skew " + reason
			}
			if l.Skew == 0 {
				return Limit{}, "skew must be above zero, or left out"
			}
			seenSkew = true
		case isWindow && window < Unlimited:
			if seenWindow {
				return Limit{}, "more than one window"
			}
			seenWindow, l.Window = true, window
		default:
			return Limit{}, "unknown option " + show(word)
		}
	}
	return l, ""
}

// blanks separate the words of a limit.
const blanks = " \t\r\n"

// splitWords cuts at blanks. A value in double quotes, name="a b", is one word
// and loses its quotes.
func splitWords(s string) (words []string, reason string) {
	const quoted = `name="`
	for {
		s = strings.TrimLeft(s, blanks)
		if s == "" {
			return words, ""
		}
		if strings.HasPrefix(s, quoted) {
			value, rest, closed := strings.Cut(s[len(quoted):], `"`)
			if !closed {
				return nil, "a quote is not closed"
			}
			if rest != "" && !strings.ContainsRune(blanks, rune(rest[0])) {
				return nil, "a space must follow the closing quote"
			}
			words, s = append(words, "name="+value), rest
			continue
		}
		end := strings.IndexAny(s, blanks)
		if end < 0 {
			end = len(s)
		}
		words, s = append(words, s[:end]), s[end:]
	}
}
