package table

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextIsAligned(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, New(read(t, output+memoryOutput)).WriteText(&out))
	text := out.String()
	require.Contains(t, text, "cpu: Some CPU\n")
	require.NotContains(t, text, "pkg:")
	require.Contains(t, text, "at least 1 samples")
	require.Contains(t, text, "Fewer than 6")
	require.Contains(t, text, fmt.Sprintf("Targets met: 4 of %d.\n", len(goals)+2))
	require.Equal(t, 1, strings.Count(text, "verdict"))

	lines := strings.Split(text, "\n")
	var head, peer int
	for i, l := range lines {
		if strings.HasPrefix(l, "figure") {
			head = i
		}
		if strings.HasPrefix(l, "peer juju") && strings.Contains(l, "10k") {
			peer = i
		}
	}
	require.Greater(t, peer, head)
	at := strings.Index(lines[head], "verdict")
	require.Equal(t, "fastest peer, faster than gate", lines[peer][at:])
	require.Regexp(t, `(?m)^tickgate +1M +131 +2\.10 +1620 +0\.21 +0\.18 +-0\.03 +1000000$`, text)
}

func TestMarkdownHasALinePerFigure(t *testing.T) {
	var out bytes.Buffer
	tab := New(read(t, output+memoryOutput))
	require.NoError(t, tab.WriteMarkdown(&out))
	counts := map[int]int{}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "| ") {
			counts[strings.Count(line, "|")]++
		}
	}
	require.Equal(t, map[int]int{
		5:                       2 + len(tab.Targets),
		len(Headings) + 1:       2 + len(tab.Rows),
		len(memoryHeadings) + 1: 2 + len(tab.Memory),
	}, counts)
	require.Contains(t, out.String(), "- cpu: Some CPU\n")
	require.Contains(t, out.String(), "## Where a peer is ahead\n\n- peer uber")
}

func TestEmptyTable(t *testing.T) {
	tab := New(NewMeasurements())
	require.Zero(t, tab.Samples)
	require.Len(t, tab.Of(NotMeasured), len(tab.Targets))
	require.NoError(t, tab.WriteText(io.Discard))
	require.NoError(t, tab.WriteMarkdown(io.Discard))
}
