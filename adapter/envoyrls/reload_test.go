package envoyrls_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/envoyrls"
)

// limitOf is a file with one limit.
func limitOf(domain, key string, rest string) string {
	return fmt.Sprintf("domain: %s\ndescriptors:\n  - key: %s\n    rate_limit:\n      %s\n", domain, key, rest)
}

const tenADay = "{unit: day, requests_per_unit: 10}"

func TestApplyKeepsWhatIsUsed(t *testing.T) {
	s := start(t, limitOf("d", "user", tenADay))
	user := of("user", "a")
	s.ask("d", adding(8, user))
	for _, tt := range []struct {
		limit string
		left  uint32
	}{
		{"{unit: day, requests_per_unit: 20}", 12},
		{"{unit: day, requests_per_unit: 5}", 0},
		{"{unit: day, requests_per_unit: 10, name: renamed}", 2},
		{"{unit: day, requests_per_unit: 10, burst: 10}", 2},
		{tenADay, 2},
	} {
		require.NoError(t, s.Apply(filesOf(limitOf("d", "user", tt.limit))...))
		a, err := s.send(requestOf("d", adding(0, user)))
		require.NoError(t, err)
		require.Equal(t, tt.left, a.GetStatuses()[0].GetLimitRemaining(), tt.limit)
	}
	require.EqualValues(t, 6, s.Version())
	require.EqualValues(t, 6, s.Stats().Loaded)
}

func TestBadFileKeepsTheLastGoodOne(t *testing.T) {
	good := limitOf("d", "user", tenADay)
	s := start(t, good)
	require.NoError(t, s.LastError())
	require.EqualValues(t, 1, s.Version())
	s.ask("d", adding(4, of("user", "a")))
	for i, bad := range [][]string{
		{"domain: d\ndescriptors: [{key: user, rate_limt: {}}]"}, {"domain: ["}, {""}, {},
		{limitOf("e", "user", tenADay), "domain: f\nx: y"}, // one of them is good
		{good, good},
	} {
		err := s.Apply(filesOf(bad...)...)
		require.Error(t, err)
		require.Equal(t, err, s.LastError())
		require.EqualValues(t, 1, s.Version())
		require.EqualValues(t, i+1, s.Stats().LoadFailed)
		require.Equal(t, filesOf(good), s.Current())
		require.EqualValues(t, 6, s.left("d", of("user", "a")))
		s.open("e", of("user", "a"))
	}
	require.NoError(t, s.Apply(filesOf(good)...), "the same again")
	require.NoError(t, s.LastError(), "is good")
	require.EqualValues(t, 1, s.Version(), "and changes nothing")
	require.NoError(t, s.Apply(filesOf(limitOf("e", "user", tenADay))...))
	require.EqualValues(t, 2, s.Version())
	s.open("d", of("user", "a"))
	s.passes(10, "e", of("user", "a"))

	files := s.Current()
	files[0].Text[0] = 'X'
	require.Equal(t, filesOf(limitOf("e", "user", tenADay)), s.Current(), "a copy")
}

func TestGateRefusesAreLoadErrors(t *testing.T) {
	s := start(t, limitOf("d", "user", tenADay))
	err := s.Apply(filesOf(limitOf("d", "user", "{unit: year, requests_per_unit: 4294967295, burst: 4294967295}"))...)
	require.Error(t, err, "it refills within 365 days, but not once its rate is rounded down")
	require.Equal(t, err, s.LastError())
	require.EqualValues(t, 1, s.Version())
	require.EqualValues(t, 10, s.ask("d", adding(0, of("user", "a"))).GetStatuses()[0].GetLimitRemaining())
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	put("b.yml", limitOf("b", "user", tenADay))
	put(".hidden.yaml", "not: ours")
	put("notes.txt", "not: ours")
	a := put("a.yaml", limitOf("a", "user", tenADay))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "dir.yaml"), 0o700))

	files, err := envoyrls.Read(dir)
	require.NoError(t, err)
	require.Len(t, files, 2)
	require.Equal(t, a, files[0].Name)
	s := start(t, limitOf("old", "user", tenADay))
	require.NoError(t, s.Load(dir))
	s.passes(10, "a", of("user", "x"))
	s.passes(10, "b", of("user", "x"))
	s.open("old", of("user", "x"))

	require.ErrorIs(t, s.Load(dir, filepath.Join(dir, "gone.yaml")), os.ErrNotExist)
	require.ErrorIs(t, s.LastError(), os.ErrNotExist)
	require.ErrorContains(t, s.Load(filepath.Join(dir, "dir.yaml")), "no file that ends in .yaml")
	put("a.yaml", strings.Repeat("#", envoyrls.MaxBytes+1))
	require.ErrorContains(t, s.Load(dir), "is longer than 4194304 bytes")
	put("a.yaml", "domain: a\ndescriptors:\n  - kye: x\n")
	require.ErrorContains(t, s.Load(dir), a+": line 3, column 5: descriptors[0] = \"kye\": is unknown here; write one of key, value,")
	require.EqualValues(t, 2, s.Version())
	require.EqualValues(t, 4, s.Stats().LoadFailed)
	require.Equal(t, []code{over}, s.codes("a", of("user", "x")), "still in force")
}

func TestNewReportsAllFaults(t *testing.T) {
	_, err := envoyrls.New(envoyrls.Config{

		Headers: envoyrls.Headers{Limit: "a b", Reset: "x\r\ny"},
	}, envoyrls.File{Name: "x.yaml", Text: []byte("domain: d\nfoo: 1\n")}, envoyrls.File{Name: "y.yaml", Text: []byte("bar: 1\n")})
	for _, want := range []string{"Headers.Limit", "Headers.Reset", `x.yaml: line 2, column 1: file = "foo"`, `y.yaml: line 1, column 1: domain`, `file = "bar"`} {
		require.ErrorContains(t, err, want)
	}
	require.Len(t, strings.Split(err.Error(), "\n"), 5)
	_, err = envoyrls.New(envoyrls.Config{})
	require.ErrorContains(t, err, "no files")
	_, err = envoyrls.New(envoyrls.Config{Gate: tickgate.Config{MaxKeys: -1}}, filesOf(limitOf("d", "user", tenADay))...)
	require.ErrorContains(t, err, "MaxKeys")
	_, err = envoyrls.New(envoyrls.Config{Gate: tickgate.Config{Policies: start(t, perUser).Gate().Policies()}}, filesOf(perUser)...)
	require.ErrorContains(t, err, "Gate.Policies")
	s, err := envoyrls.New(envoyrls.Config{}, filesOf(limitOf("d", "user", tenADay))...)
	require.NoError(t, err, "the zero value works")
	a, err := s.ShouldRateLimit(t.Context(), requestOf("d", of("user", "a")))
	require.NoError(t, err)
	require.EqualValues(t, 9, a.GetStatuses()[0].GetLimitRemaining())
}

// Somebody else takes the policies away: no answer is better than a wrong one.
func TestPoliciesTakenAway(t *testing.T) {
	s := start(t, shadowed)
	require.NoError(t, s.Gate().Apply(start(t, perUser).Gate().Policies()))
	for _, ds := range [][]*descriptor{{of("host", "a")}, {adding(0, of("host", "a"))}, users(2), users(20)} {
		if ds[0].Entries[0].Key == "user" { // that one is there
			ds[0] = of("host", "a")
		}
		_, err := s.send(requestOf("d", ds...))
		require.ErrorContains(t, err, "code = Internal")
	}
	require.EqualValues(t, 4, s.Stats().Refused)
	require.EqualValues(t, 10, s.left("d", of("user", "1")))
}

// Requests go on while limits come and go. Each is answered by one of the sets, and
// takes nothing where it is refused.
func TestApplyUnderLoad(t *testing.T) {
	one := []string{shadowed}
	two := []string{strings.ReplaceAll(shadowed, "key: host", "key: desk"), limitOf("e", "user", tenADay)}
	s := start(t, one...)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for _, ds := range [][]*descriptor{
		{of("user", "a"), of("host", "a")}, {of("host", "b")}, append(users(12), of("desk", "a"), of("seen", "a")),
	} {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					a, err := s.ShouldRateLimit(t.Context(), requestOf("d", ds...))
					if err != nil || len(a.GetStatuses()) != len(ds) {
						t.Errorf("%v %v", a, err)
						return
					}
				}
			}
		})
	}
	for i := range 60 {
		if i%2 == 0 {
			require.NoError(t, s.Apply(filesOf(two...)...))
		} else {
			require.NoError(t, s.Apply(filesOf(one...)...))
		}
	}
	close(stop)
	wg.Wait()
	require.EqualValues(t, 61, s.Version())
	require.Zero(t, s.Stats().Refused)
}
