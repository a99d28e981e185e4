package tickgate_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	fenced   = regexp.MustCompile("(?s)```.*?```")
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#+ (.*)$`)
	named    = regexp.MustCompile("`((?:Test|Fuzz|Example|Benchmark)\\w*…?)`")
	declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example|Benchmark)\w*)\(`)
	unslug   = regexp.MustCompile(`[^\w\- ]`)
)

// files returns the files of the repository, by their paths, that end in suffix.
func files(t *testing.T, suffix string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, suffix):
			text, err := os.ReadFile(name)
			all[filepath.ToSlash(name)] = string(text)
			return err
		}
		return nil
	}))
	return all
}

// Every link of the documents leads somewhere, also to the heading that it names.
func TestDocsLinks(t *testing.T) {
	docs := files(t, ".md")
	anchors := map[string]map[string]bool{}
	for name, text := range docs {
		anchors[name] = map[string]bool{}
		for _, h := range headings.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			anchors[name][strings.ReplaceAll(unslug.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
		}
	}
	for name, text := range docs {
		for _, l := range links.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(l[1], "://") {
				continue
			}
			to, anchor, _ := strings.Cut(l[1], "#")
			target := name
			if to != "" {
				target = path.Join(path.Dir(name), to)
			}
			_, err := os.Stat(filepath.FromSlash(target))
			require.NoError(t, err, "%s links to %s", name, l[1])
			require.True(t, anchor == "" || anchors[target][anchor], "%s links to %s: there is no such heading", name, l[1])
		}
	}
}

// Every test that the documents name is there; a name that ends in … begins at least one.
func TestDocsNameTestsThatExist(t *testing.T) {
	there := map[string]bool{}
	for _, text := range files(t, ".go") { // those of package idemtest are exported
		for _, f := range declared.FindAllStringSubmatch(text, -1) {
			there[f[1]] = true
		}
	}
	for name, text := range files(t, ".md") {
		for _, n := range named.FindAllStringSubmatch(text, -1) {
			begin, open := strings.CutSuffix(n[1], "…")
			found := there[begin]
			for f := range there {
				found = found || open && strings.HasPrefix(f, begin)
			}
			require.True(t, found, "%s names %s", name, n[1])
		}
	}
}
