package redisync

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/tickgate/tickgate/policy"
)

// A budget's key is readable but for the apikey, which is a secret:
//
//	tickgate:orders:burst:5994471abb01112afcc18159f6cc74b4           credit and strict
//	tickgate:{17}:orders:burst:5994471abb01112afcc18159f6cc74b4      lease
//	tickgate:orders:-:5994471abb01112afcc18159f6cc74b4               of a limit without a name
//	tickgate:{17}                                                    the mark of bucket 17
//	tickgate:nodes                                                   the nodes that live
//
// Lease keys are in Buckets buckets, each in one slot of a cluster, because the
// script looks at the bucket's mark when it makes a key.

const (
	// Buckets is the number of marks of lease keys: enough that the masters of a
	// cluster get about equal shares.
	Buckets = 256
	// MarkTTL is how long an unused mark stays, in ms: a day. Later, keys of
	// its bucket are made as if Redis had lost them.
	MarkTTL = 24 * 60 * 60 * 1000
	// maxName bounds the endpoint's part of a key, in bytes.
	maxName = 120
)

// OnlyLimit stands in keys for a limit without a name that is the policy's only token
// bucket. Its rate is not in the key, so that processes share it while they change it one
// by one. To name it later makes it another.
const OnlyLimit = "-"

// limitPart returns what stands in keys for a limit of p. Where there are several without
// a name, which New refuses but Apply may bring, it is what the limit says.
func limitPart(p policy.Policy, l policy.Limit) string {
	if l.Name == "" && bucketsOf(p) == 1 {
		return OnlyLimit
	}
	return l.Label()
}

// bucketsOf counts the limits of p that can be shared.
func bucketsOf(p policy.Policy) (n int) {
	for _, l := range p.Limits {
		if l.Window == policy.TokenBucket {
			n++
		}
	}
	return n
}

// BudgetKey returns the key of a limit shared on credit or by strict calls.
func BudgetKey(prefix, endpoint, limit, apikey string) string {
	return prefix + ":" + budgetName(endpoint, limit, apikey)
}

// LeaseKey returns the two keys of a limit shared by leases.
func LeaseKey(prefix, endpoint, limit, apikey string) (key, mark string) {
	name := budgetName(endpoint, limit, apikey)
	mark = MarkKey(prefix, int(crc32.ChecksumIEEE([]byte(name))%Buckets))
	return mark + ":" + name, mark
}

// MarkKey returns the key of a bucket's mark, of 0 to Buckets−1.
func MarkKey(prefix string, bucket int) string {
	return prefix + ":{" + strconv.Itoa(bucket) + "}"
}

// NodesKey returns the key of the set of nodes.
func NodesKey(prefix string) string { return prefix + ":nodes" }

func budgetName(endpoint, limit, apikey string) string {
	sum := sha256.Sum256([]byte(apikey))
	name := escape(endpoint)
	if len(name) > maxName {
		// What is cut off must still tell keys apart.
		whole := sha256.Sum256([]byte(endpoint))
		name = name[:maxName-17] + "~" + hex.EncodeToString(whole[:8])
	}
	return name + ":" + escape(limit) + ":" + hex.EncodeToString(sum[:16])
}

// escape writes every byte that would confuse a reader or a cluster, which
// takes what is in braces for the key's slot, as %XX.
func escape(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c > ' ' && c < 0x7f && c != '%' && c != ':' && c != '{' && c != '}' && c != '~' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

// prefixFault says what is wrong with a prefix, "" if it is good.
func prefixFault(p string) string {
	if p == "" || len(p) > 64 {
		return "must be 1 to 64 bytes"
	}
	for i := range len(p) {
		if c := p[i]; c <= ' ' || c >= 0x7f || c == '{' || c == '}' {
			return `must be printable ASCII without spaces and braces`
		}
	}
	return ""
}
