// Package invariants says whether what must always hold is checked at run time:
// only in a build with the tag "invariants". Without it a check costs nothing:
//
//	if invariants.Enabled && broken {
//		panic("…")
//	}
package invariants
