package pgconfig

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

// followed runs a test in fake time with a source that follows a file.
func followed(t *testing.T, path string, test func(t *testing.T, f *File, changes *atomic.Int64, log *book)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := &book{}
		f, err := NewFile(FileConfig{Path: path, Log: log.logger()})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var changes atomic.Int64
		done := make(chan struct{})
		go func() {
			f.Run(ctx, func() { changes.Add(1) })
			close(done)
		}()
		after(settle)
		test(t, f, &changes, log)
		cancel()
		<-done
	})
}

func yamlOf(tokens int) string {
	return "- endpoint: a\n  limits: [" + strconv.Itoa(tokens) + "/s]\n- endpoint: b\n  limits: [1/s]\n"
}

func write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func tokensOf(s Source) int64 {
	set := s.Current()
	if len(set) == 0 {
		return -1
	}
	return set[0].Limits[0].Tokens
}

func TestFileReplacedByRename(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.yaml")
	write(t, path, yamlOf(1))
	followed(t, path, func(t *testing.T, f *File, changes *atomic.Int64, _ *book) {
		require.EqualValues(t, 1, tokensOf(f))
		first := f.Version()
		require.Len(t, first, 12)
		for n := int64(2); n < 5; n++ {
			write(t, path+".new", yamlOf(int(n)))
			require.NoError(t, os.Rename(path+".new", path))
			after(DefaultEvery + settle)
			require.Equal(t, n, tokensOf(f))
			require.Equal(t, n, changes.Load())
		}
		require.NotEqual(t, first, f.Version())
		before := f.Stats()
		after(time.Hour)
		require.Equal(t, before.Reloads, f.Stats().Reloads, "what stays the same is not read again")
		require.Less(t, time.Since(f.Stats().LastSuccess), 2*DefaultEvery, "but seen to be good")
	})
}

// The same size and the same times: only the content tells.
func TestFileIsFollowedByContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml")
	write(t, path, yamlOf(1))
	then := time.Unix(1e9, 0)
	require.NoError(t, os.Chtimes(path, then, then))
	followed(t, path, func(t *testing.T, f *File, changes *atomic.Int64, _ *book) {
		write(t, path, yamlOf(2))
		require.NoError(t, os.Chtimes(path, then, then))
		after(DefaultEvery + settle)
		require.EqualValues(t, 2, tokensOf(f))
		now := time.Now()
		require.NoError(t, os.Chtimes(path, now, now))
		after(DefaultEvery + settle)
		require.EqualValues(t, 2, changes.Load())
	})
}

// Kubernetes mounts a ConfigMap as p.yaml -> ..data/p.yaml and ..data -> a folder with
// a date, and replaces the second link.
func TestFileBehindLinksThatAreSwapped(t *testing.T) {
	dir := t.TempDir()
	put := func(version string, tokens int) {
		require.NoError(t, os.Mkdir(filepath.Join(dir, version), 0o700))
		write(t, filepath.Join(dir, version, "p.yaml"), yamlOf(tokens))
		require.NoError(t, os.Symlink(version, filepath.Join(dir, "..data_tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	put("..2024_01", 1)
	path := filepath.Join(dir, "p.yaml")
	require.NoError(t, os.Symlink(filepath.Join("..data", "p.yaml"), path))
	followed(t, path, func(t *testing.T, f *File, _ *atomic.Int64, _ *book) {
		require.EqualValues(t, 1, tokensOf(f))
		put("..2024_02", 2)
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "..2024_01")))
		after(DefaultEvery + settle)
		require.EqualValues(t, 2, tokensOf(f))
		require.NoError(t, f.LastError())
	})
}

// The first half of a YAML list is a YAML list: a file must have stayed the same for a
// moment before it is believed.
func TestFileHalfWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml")
	write(t, path, yamlOf(1))
	followed(t, path, func(t *testing.T, f *File, changes *atomic.Int64, _ *book) {
		half, _, _ := strings.Cut(yamlOf(2), "- endpoint: b")
		after(DefaultEvery - settle - 10*time.Millisecond)
		write(t, path, half) // seen by the next look, in 10 ms
		after(30 * time.Millisecond)
		write(t, path, yamlOf(2))
		after(DefaultEvery)
		require.EqualValues(t, 2, tokensOf(f))
		require.EqualValues(t, 2, changes.Load(), "the half was never in force")
		require.Len(t, f.Current(), 2)
	})
}

func TestFileThatNeverSettles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml")
	write(t, path, yamlOf(1))
	followed(t, path, func(t *testing.T, f *File, _ *atomic.Int64, _ *book) {
		after(DefaultEvery - settle - 10*time.Millisecond)
		for n := range 100 {
			write(t, path, yamlOf(10+n))
			after(20 * time.Millisecond)
		}
		require.ErrorContains(t, f.LastError(), "replace it by a rename")
		require.EqualValues(t, 1, tokensOf(f))
		after(2 * DefaultEvery)
		require.EqualValues(t, 109, tokensOf(f))
	})
}

func TestFileFaultsKeepTheLastGoodSet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml")
	write(t, path, yamlOf(1))
	followed(t, path, func(t *testing.T, f *File, changes *atomic.Int64, log *book) {
		version := f.Version()
		faults := uint64(0)
		for text, reason := range map[string]string{
			"": "the file is empty", "[]": "must hold at least one policy", "- endpoint: a\n  limits: [0/s]\n": "line 2: policies[0](a).limits[0]",
			"\x00\xff": "p.yaml: ", strings.Repeat("#", policy.MaxBytes+1): "longer than",
		} {
			write(t, path, text)
			after(DefaultEvery + settle)
			require.ErrorContains(t, f.LastError(), reason)
			faults++
			after(time.Minute)
			require.Equal(t, faults, f.Stats().Reloads[Rejected], "judged once")
		}
		require.NoError(t, os.Remove(path))
		after(DefaultEvery + settle)
		require.ErrorIs(t, f.LastError(), os.ErrNotExist)
		require.NoError(t, os.Mkdir(path, 0o700))
		after(DefaultEvery + settle)
		require.ErrorContains(t, f.LastError(), "not a regular file")
		require.NoError(t, os.Remove(path))

		require.EqualValues(t, 1, tokensOf(f))
		require.Equal(t, version, f.Version())
		require.EqualValues(t, 1, changes.Load())
		write(t, path, yamlOf(1))
		after(DefaultEvery + settle)
		require.NoError(t, f.LastError())
		require.EqualValues(t, 1, changes.Load(), "back as it was")
		require.Less(t, log.count("level=ERROR"), 10)
	})
}

func TestFileBadThenBackAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.json")
	write(t, path, `[{"endpoint": "a", "limits": ["1/s"]}]`)
	followed(t, path, func(t *testing.T, f *File, _ *atomic.Int64, _ *book) {
		write(t, path, "{")
		after(DefaultEvery + settle)
		require.Error(t, f.LastError())
		require.Error(t, f.Load(context.Background()), "also when asked for")
		write(t, path, `[{"endpoint": "a", "limits": ["1/s"]}]`)
		after(DefaultEvery + settle)
		require.NoError(t, f.LastError())
		require.NoError(t, f.Load(context.Background()))
	})
}

func TestFileConfigFaults(t *testing.T) {
	_, err := NewFile(FileConfig{Every: time.Microsecond})
	require.EqualError(t, err, "Path = \"\": is required: name a JSON or YAML file\n"+
		`Every = "1µs": must be at least 10ms, or 0 for 1s`)
}
