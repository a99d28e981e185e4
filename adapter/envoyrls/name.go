package envoyrls

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"

	"github.com/tickgate/tickgate/policy"
)

// step names an entry below parent, such as ";to_number" or ";message_type=marketing".
// The names of the steps, one after the other behind that of the domain, are the rule's
// endpoint in the gate: what is used of a limit survives a reload as long as the path to
// it stays the same.
func step(parent, key, value string) string {
	name := parent + ";" + escape(key)
	if value != "" {
		name += "=" + escape(value)
	}
	return name
}

// escape writes as %XX what separates names, and what an endpoint may not hold. Distinct
// texts stay distinct. YAML has let only UTF-8 through.
func escape(s string) string {
	special := func(c rune) bool { return strings.ContainsRune(";=%#", c) || unicode.IsControl(c) }
	if !strings.ContainsFunc(s, special) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if !special(c) {
			b.WriteRune(c)
			continue
		}
		for _, x := range []byte(string(c)) {
			fmt.Fprintf(&b, "%%%02X", x)
		}
	}
	return b.String()
}

// endpoint returns path, or where it is too long its beginning, a # and 32 hex digits of
// its SHA-256.
func endpoint(path string) string {
	if len(path) <= policy.MaxEndpoint {
		return path
	}
	sum := sha256.Sum256([]byte(path))
	tail := "#" + hex.EncodeToString(sum[:16])
	return strings.ToValidUTF8(path[:policy.MaxEndpoint-len(tail)], "") + tail
}
