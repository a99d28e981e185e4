// Package verdict tells from profiles whether a decision blocked or allocated.
//
// A sample belongs to the decision path if any frame of its stack is a decision
// method: whatever a decision calls, however deep and in whatever package, counts.
package verdict

import (
	"reflect"
	"slices"
	"strings"

	"github.com/tickgate/tickgate"

	"github.com/tickgate/tickgate/pprof/internal/frame"
)

// Roots are the functions at which the decision path begins, by the names that
// profiles give them.
type Roots map[string]bool

// Decisions returns the decision methods of Gate, Endpoint, Handle and Group. They
// are found, so that one added later is judged without being named here: the exported
// methods whose name begins with Allow or Take, and that return nothing but a bool or
// a Decision, or fill a slice of Decisions.
func Decisions() Roots {
	roots := Roots{}
	for _, t := range []reflect.Type{
		reflect.TypeFor[*tickgate.Gate](), reflect.TypeFor[tickgate.Endpoint](),
		reflect.TypeFor[tickgate.Handle](), reflect.TypeFor[tickgate.Group](),
	} {
		for m := range t.NumMethod() {
			if m := t.Method(m); named(m.Name) && decides(m.Type) {
				roots[symbol(t, m.Name)] = true
			}
		}
	}
	return roots
}

// named reports whether a method's name is that of a decision; others that return a
// bool tell of a state, and may take a lock for it.
func named(method string) bool {
	return strings.HasPrefix(method, "Allow") || strings.HasPrefix(method, "Take")
}

// decides reports whether a method of this type is a decision.
func decides(m reflect.Type) bool {
	decision := reflect.TypeFor[tickgate.Decision]()
	if m.NumOut() == 1 && (m.Out(0).Kind() == reflect.Bool || m.Out(0) == decision) {
		return true
	}
	for i := range m.NumIn() {
		if m.In(i) == reflect.SliceOf(decision) {
			return true
		}
	}
	return false
}

// symbol is the linker's name of a method.
func symbol(t reflect.Type, method string) string {
	if t.Kind() == reflect.Pointer {
		return t.Elem().PkgPath() + ".(*" + t.Elem().Name() + ")." + method
	}
	return t.PkgPath() + "." + t.Name() + "." + method
}

// Names returns the roots in order, without the path of their package.
func (r Roots) Names() []string {
	names := make([]string, 0, len(r))
	for name := range r {
		names = append(names, frame.Short(name))
	}
	slices.Sort(names)
	return names
}
