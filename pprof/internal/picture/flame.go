package picture

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"html"
	"io"

	"github.com/google/pprof/profile"
)

// Measures of the picture, in pixels.
const (
	width    = 1200
	height   = 17 // of a row
	letter   = 6.6
	headline = 30
	thinnest = 0.4 // what is narrower is left out
)

// Flame writes a flame graph: every box is a function, as wide as its share, on the
// one that called it; the goroutine's start is at the top. Pointing at a box shows
// its name and numbers.
func (v View) Flame(w io.Writer, p *profile.Profile) error {
	root, unit, err := v.tree(p)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	rows := depth(root, float64(width))
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="monospace" font-size="11">`+"\n",
		width, headline+rows*height+6)
	fmt.Fprintln(out, `<rect width="100%" height="100%" fill="#fdfdfb"/>`)
	fmt.Fprintf(out, `<text x="4" y="19" font-size="14">%s: %s of %s</text>`+"\n",
		html.EscapeString(v.Title), quantity(root.total, unit), html.EscapeString(v.Value))
	f := flame{out: out, unit: unit, whole: root.total}
	f.box(root, 0, headline, width)
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// depth is how many rows a function and what is below it need.
func depth(n *node, wide float64) int {
	deepest := 0
	for _, c := range n.below {
		if part := wide * float64(c.total) / float64(n.total); part >= thinnest {
			deepest = max(deepest, depth(c, part))
		}
	}
	return deepest + 1
}

type flame struct {
	out   io.Writer
	unit  string
	whole int64
}

// box draws a function and what it calls.
func (f *flame) box(n *node, x, y, wide float64) {
	name := n.label()
	fmt.Fprintf(f.out, `<g><title>%s: %s, %.1f%%`, html.EscapeString(n.name), quantity(n.total, f.unit), percent(n.total, f.whole))
	if n.flat > 0 {
		fmt.Fprintf(f.out, "; itself %s, %.1f%%", quantity(n.flat, f.unit), percent(n.flat, f.whole))
	}
	fmt.Fprintf(f.out, `</title><rect x="%.1f" y="%.0f" width="%.1f" height="%d" rx="1" fill="%s"/>`,
		x, y, max(0.1, wide-0.5), height-1, colour(name))
	if fits := int((wide - 4) / letter); fits >= 3 {
		text := []rune(name)
		if len(text) > fits {
			text = append(text[:fits-1], '…')
		}
		fmt.Fprintf(f.out, `<text x="%.1f" y="%.0f">%s</text>`, x+2, y+12, html.EscapeString(string(text)))
	}
	fmt.Fprintln(f.out, "</g>")
	for _, c := range n.sorted() {
		part := wide * float64(c.total) / float64(n.total)
		if part >= thinnest {
			f.box(c, x, y+height, part)
		}
		x += part
	}
}

// colour is the same for all functions of a package: warm.
func colour(name string) string {
	h := fnv.New32a()
	for i := range len(name) {
		if name[i] == '.' {
			break
		}
		h.Write([]byte{name[i]})
	}
	sum := h.Sum32()
	return fmt.Sprintf("hsl(%d,%d%%,%d%%)", 10+sum%50, 65+sum>>8%25, 68+sum>>16%10)
}
