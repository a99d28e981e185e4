package correspond

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"text/scanner"
)

// token is a word or a sign of a text, and its line, from 1 on.
type token struct {
	text string
	line int
}

// luaComment is a comment of Lua. Those of Go and of Promela are skipped by the scanner.
var luaComment = regexp.MustCompile(`--[^\n]*`)

// tokens takes a text apart. name tells the language: Go, else Promela or Lua. A comma
// before a bracket that closes is left out, since it only says that a line ends there.
func tokens(name, src string) (all []token) {
	var s scanner.Scanner
	if strings.HasSuffix(name, ".lua") {
		src = luaComment.ReplaceAllString(src, "")
	}
	s.Init(strings.NewReader(src))
	s.Mode = scanner.ScanIdents | scanner.ScanFloats | scanner.ScanComments | scanner.SkipComments
	if strings.HasSuffix(name, ".go") {
		s.Mode = scanner.GoTokens
	}
	s.Error = func(*scanner.Scanner, string) {} // a string of Lua's is signs and words, too
	for s.Scan() != scanner.EOF {
		t := token{s.TokenText(), s.Position.Line}
		if n := len(all) - 1; n >= 0 && all[n].text == "," && strings.Contains(")]}", t.text) {
			all = all[:n]
		}
		all = append(all, t)
	}
	return all
}

// find returns where part is in all from a place on, -1 if it is not.
func find(all, part []token, from int) int {
	for i := from; i+len(part) <= len(all); i++ {
		if slices.EqualFunc(all[i:i+len(part)], part, func(a, b token) bool { return a.text == b.text }) {
			return i
		}
	}
	return -1
}

// join puts tokens together, with a space between two words or signs.
func join(all []token) string {
	words := make([]string, len(all))
	for i, t := range all {
		words[i] = t.text
	}
	return strings.Join(words, " ")
}

// hash is what tells whether code changed: 64 bits in hexadecimal.
func hash(all []token) string {
	sum := sha256.Sum256([]byte(join(all)))
	return hex.EncodeToString(sum[:8])
}

// line is a line of a text that has tokens: those, and how it reads.
type line struct{ tokens, text string }

// lines returns those of a text that was taken apart.
func lines(text string, all []token) (each []line) {
	texts := strings.Split(text, "\n")
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].line == all[i].line {
			j++
		}
		each = append(each, line{join(all[i:j]), strings.TrimSpace(texts[all[i].line-1])})
		i = j
	}
	return each
}

// sketchSize is how many characters a line takes in a sketch: 12 bits. Another line may
// have the same, so a sketch shows what changed, and the hash decides whether something
// did.
const sketchSize = 2

// sketch is a short sign of each line, so that a change can be shown without the code
// as it was.
func sketch(each []line) string {
	var b strings.Builder
	for _, l := range each {
		sum := sha256.Sum256([]byte(l.tokens))
		b.WriteString(base64.RawURLEncoding.EncodeToString(sum[:])[:sketchSize])
	}
	return b.String()
}
