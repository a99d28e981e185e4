package checkapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
)

// What is written plainly, and what is for the library.
func TestPlain(t *testing.T) {
	one := func(key, endpoint string, n int64) []tickgate.Request {
		return []tickgate.Request{{APIKey: key, Endpoint: endpoint, N: n}}
	}
	for _, c := range []struct {
		text string
		is   shape
		want []tickgate.Request
	}{
		{`{"apikey":"k","endpoint":"e"}`, single, one("k", "e", 1)},
		{`{"apikey": "k", "endpoint": "e", "n": 7}` + "\n", single, one("k", "e", 7)},
		{"\t{ \"n\" : 0 , \"endpoint\" : \"e\" , \"apikey\" : \"\" } \r\n", single, one("", "e", 0)},
		{`{"n":999999999999999999}`, single, one("", "", 999999999999999999)},
		{`{"requests":[{"apikey":"a","endpoint":"e"},{"apikey":"b","n":2}]}`, several, append(one("a", "e", 1), one("b", "", 2)...)},
		{` { "requests" : [ {"apikey":"a"} ] } `, several, one("a", "", 1)},
		{text: `{}`}, {text: ``}, {text: `null`}, {text: `{"apikey":"k"`}, {text: `{"apikey":"k"}x`},
		{text: `{"apikey":"k","apikey":"k"}`}, {text: `{"apikey":"k",}`}, {text: `{"apikey":"\u006b"}`},
		{text: `{"apikey":"é"}`}, {text: "{\"apikey\":\"\n\"}"}, {text: `{"apikey":"k","cost":1}`}, {text: `{"apikey":1}`},
		{text: `{"n":01}`}, {text: `{"n":00}`}, {text: `{"n":-1}`}, {text: `{"n":1.0}`}, {text: `{"n":1e3}`}, {text: `{"n":}`}, {text: `{"n":9999999999999999999}`},
		{text: `{"requests":[]}`}, {text: `{"requests":[{}]}`}, {text: `{"requests":[{"n":1},]}`}, {text: `{"requests":[{"n":1}],"n":1}`}, {text: `{"requests":[{"n":1}]`},
		{text: `{"requests":[` + strings.Repeat(`{"n":1},`, MaxRequests) + `{"n":1}]}`},
	} {
		reqs, is := plain([]byte(c.text), nil)
		require.Equal(t, c.is, is, "%.80s", c.text)
		if is != unknown {
			require.Equal(t, c.want, reqs, "%.80s", c.text)
		}
	}
}

// FuzzPlain: what is read plainly is what the library reads.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{
		`{"apikey":"desk-7","endpoint":"order.new","n":1}`, `{ "n":0, "endpoint":"e", "apikey":"k" }`, `{"n":01}`, `{"n":-0}`, `{"apikey":"\""}`,
		`{"requests":[{"apikey":"a","endpoint":"e"},{"n":10}]}`, `{"requests":[{"apikey":"a","requests":[]}]}`, "{\"apikey\":\"\x7f\"}", `{"apikey":"k"}{}`, ``,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		reqs, is := plain(text, nil)
		if is == unknown {
			return
		}
		want, shape, fault := whole(text, nil)
		require.Nil(t, fault, "%q", text)
		require.Equal(t, shape, is, "%q", text)
		require.Equal(t, want, reqs, "%q", text)
	})
}

// Every shape that plain takes is met: texts are put together from parts.
func TestPlainAgrees(t *testing.T) {
	keys := []string{"", `"apikey":"k"`, `"apikey" : "a b"`, `"apikey":""`}
	endpoints := []string{"", `"endpoint":"e"`, "\"endpoint\":\n\"GET /x\""}
	ns := []string{"", `"n":0`, `"n": 10`}
	for _, k := range keys {
		for _, e := range endpoints {
			for _, n := range ns {
				var all []string
				for _, m := range []string{k, e, n} {
					if m != "" {
						all = append(all, m)
					}
				}
				if len(all) == 0 {
					continue
				}
				text := "{" + strings.Join(all, " , ") + "}"
				for _, text := range []string{text, fmt.Sprintf(`{"requests":[%s , %s]}`, text, text)} {
					reqs, is := plain([]byte(text), nil)
					want, shape, fault := whole([]byte(text), nil)
					require.Nil(t, fault)
					require.Equal(t, shape, is, text)
					require.Equal(t, want, reqs, text)
				}
			}
		}
	}
}
