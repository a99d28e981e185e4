package pgconfig

import (
	"github.com/tickgate/tickgate/policy"
)

// Layer is a layer that is no [Source]: it makes another set of what the layers below
// say, as the assignments of a command line do.
type Layer struct {
	// Name stands for it in [Stack.Origins], "command line" say. Required with Over.
	Name string
	// Over returns what is to be in force where below is what the other layers say. It
	// leaves below as it is, and returns the same for the same. An error keeps what was
	// in force; it is shown as it is, without Name. Over is called by one goroutine at a
	// time, and must not call Load, Reload or Run of the stack. nil: there is no such layer.
	Over func(below policy.Set) (policy.Set, error)
}

// layers is a set in the making, one layer over the other.
type layers struct {
	set     policy.Set
	index   map[string]int    // endpoint to its place in set
	origins map[string]string // endpoint to the name of the layer that it is from
}

// over puts the policies of a layer in the place of those below it, or at the end.
func (l *layers) over(name string, set policy.Set) {
	if l.index == nil {
		l.set, l.index, l.origins = policy.Set{}, map[string]int{}, map[string]string{}
	}
	for _, p := range set {
		at, ok := l.index[p.Endpoint]
		if !ok {
			at = len(l.set)
			l.index[p.Endpoint] = at
			l.set = append(l.set, p)
		}
		l.set[at] = p
		l.origins[p.Endpoint] = name
	}
}

// become has a layer make another set of all that is there. Nothing is put over it but
// by become.
func (l *layers) become(name string, set policy.Set) {
	below := make(map[string]policy.Policy, len(l.set))
	for _, p := range l.set {
		below[p.Endpoint] = p
	}
	origins := make(map[string]string, len(set))
	for _, p := range set {
		if was, ok := below[p.Endpoint]; ok && p.Equal(was) {
			origins[p.Endpoint] = l.origins[p.Endpoint]
		} else {
			origins[p.Endpoint] = name
		}
	}
	if set == nil {
		set = policy.Set{} // nil would be the default to a gate
	}
	l.set, l.origins = set, origins
}
