package httplimit

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

func TestFieldID(t *testing.T) {
	for body, want := range map[string]string{
		``: "", ` `: "", `{}`: "", `{"content":"ingest_id"}`: "",
		`{"ingest_id":null}`:                               "",
		`{"ingest_id":"a b"}`:                              "a b",
		`{"\u0069ngest_id":"\u0061é"}`:                     "aé",
		`{"x":{"ingest_id":"no"}}`:                         "",
		`{"x":[{}],"ingest_id":"y","z":1}`:                 "y",
		" \n{ \"ingest_id\" : \"y\" } ":                    "y",
		`{"ingest_id":"` + strings.Repeat("k", 256) + `"}`: strings.Repeat("k", 256),
	} {
		id, err := fieldID([]byte(body), "ingest_id")
		require.NoError(t, err, body)
		require.Equal(t, want, id, body)
	}
	for body, want := range map[string]error{
		`{`: ErrBodyInvalid, `[]`: ErrBodyInvalid, `"ingest_id"`: ErrBodyInvalid, `null`: ErrBodyInvalid,
		`{} {}`: ErrBodyInvalid, `{"ingest_id":"a"} x`: ErrBodyInvalid, `{"ingest_id":"a",}`: ErrBodyInvalid,
		"{\"ingest_id\":\"\xff\"}": ErrBodyInvalid, "{\"ingest_id\":\"a\x00\"}": ErrBodyInvalid,
		`ingest_id=a`: ErrBodyInvalid, "\ufeff{}": ErrBodyInvalid,
		strings.Repeat(`[`, 100000): ErrBodyInvalid, `{"a":` + strings.Repeat(`[`, 100000) + strings.Repeat(`]`, 100000) + `}`: ErrBodyInvalid,
		`{"ingest_id":"a","ingest_id":"a"}`:                ErrIDInvalid,
		`{"ingest_id":"a","\u0069ngest_id":"b"}`:           ErrIDInvalid,
		`{"ingest_id":null,"ingest_id":"b"}`:               ErrIDInvalid,
		`{"ingest_id":"a","Ingest_ID":"b"}`:                ErrIDInvalid, // encoding/json would take the last
		`{"INGEST_ID":"b"}`:                                ErrIDInvalid,
		`{"ingeſt_id":"b"}`:                                ErrIDInvalid, // it folds this too
		`{"ingest_id":""}`:                                 ErrIDInvalid,
		`{"ingest_id":7}`:                                  ErrIDInvalid,
		`{"ingest_id":["a"]}`:                              ErrIDInvalid,
		`{"ingest_id":{"a":"b"}}`:                          ErrIDInvalid,
		`{"ingest_id":"a\u0000b"}`:                         ErrIDInvalid,
		`{"ingest_id":"a\r\nX: y"}`:                        ErrIDInvalid,
		`{"ingest_id":"\ud800"}`:                           ErrIDInvalid, // half a character: it could be any
		`{"ingest_id":"` + strings.Repeat("k", 257) + `"}`: ErrIDInvalid,
	} {
		_, err := fieldID([]byte(body), "ingest_id")
		require.ErrorIs(t, err, want, "%.60s", body)
	}
}

// Whatever the body, what fieldID reads is what encoding/json reads into a struct.
func FuzzFieldID(f *testing.F) {
	for _, s := range []string{`{}`, `{"id":"a"}`, `{"ID":"a"}`, `{"id":"a","id":"b"}`, `{"id":null,"x":[1,{"id":2}]}`, `{"id":"\ud83d\ude00"}`, `[`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		id, err := fieldID([]byte(body), "id")
		if err != nil || strings.TrimSpace(body) == "" {
			require.Empty(t, id)
			return
		}
		var v struct {
			ID string `json:"id"`
		}
		require.NoError(t, json.Unmarshal([]byte(body), &v))
		require.Equal(t, v.ID, id)
		if id != "" {
			require.True(t, goodKey(id) && utf8.ValidString(id))
		}
	})
}

func TestHeaderID(t *testing.T) {
	for v, want := range map[string]string{
		`abc`: "abc", `"abc"`: "abc", ` "a b,c;d" `: "a b,c;d", `"a\"b\\"`: `a"b\`, `8e03978e-40d5-43dd-bc93-6894a57f9324`: "8e03978e-40d5-43dd-bc93-6894a57f9324",
		`a+/=:~`: "a+/=:~", strings.Repeat("k", 256): strings.Repeat("k", 256), `"` + strings.Repeat(`\"`, 256) + `"`: strings.Repeat(`"`, 256),
	} {
		id, err := headerID(http.Header{headerKey: {v}})
		require.NoError(t, err, v)
		require.Equal(t, want, id)
	}
	for _, v := range []string{
		``, ` `, `""`, `"`, `"a`, `a"`, `"a"b`, `"a";p=1`, `"a", "b"`, `a,b`, `a;b`, `a b`, `"a\x"`, `"a\`, "a\x00", "\"a\x00\"", "\"a\r\n\"", "é", `"é"`,
		strings.Repeat("k", 257), `"` + strings.Repeat("k", 257) + `"`, strings.Repeat("k", 10<<10), `"` + strings.Repeat("k", 10<<10) + `"`,
	} {
		_, err := headerID(http.Header{headerKey: {v}})
		require.ErrorIs(t, err, ErrIDInvalid, "%.40q", v)
	}
	_, err := headerID(http.Header{headerKey: {"a", "a"}})
	require.ErrorIs(t, err, ErrIDInvalid, "given twice")
	id, err := headerID(http.Header{})
	require.NoError(t, err)
	require.Empty(t, id)
}

func TestTimesInWords(t *testing.T) {
	for limit, want := range map[string][2]string{
		"100/h": {"100 requests/hour", "3600s"}, "1/60s": {"1 request/minute", "60s"}, "5/90s": {"5 requests/90 seconds", "90s"},
		"5/1500ms": {"5 requests/1500 milliseconds", "1.5s"}, "7/25us": {"7 requests/25 microseconds", "0.000025s"}, "3/2d": {"3 requests/2 days", "172800s"},
	} {
		l, err := policy.ParseLimit(limit)
		require.NoError(t, err)
		require.Equal(t, want, [2]string{rateInWords(l), windowInSeconds(l.Per)})
	}
}

func TestStringsInProblems(t *testing.T) {
	for _, s := range []string{"", "plain", `"\`, "<&>", "\x00\r\n", "é", "\xff", "\x7f"} {
		var back string
		require.NoError(t, json.Unmarshal(appendJSON(nil, s), &back))
		require.Equal(t, strings.ToValidUTF8(s, "\ufffd"), back)
	}
}
