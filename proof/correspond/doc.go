// Package correspond holds the models of proof/model to the code that they are models of.
//
// A table, proof/model/correspondence.txt, says of every part of a model which code it
// stands for, step by step. Beside it, proof/model/correspondence.sum has a hash of that
// code as it was when somebody last compared the two. [Check] finds a part that the table
// leaves out, a step that is not in the model or not in the code, and code that changed
// since. [Looked] writes the hashes anew, of the functions and models that are named.
//
// What is compared is tokens: comments, blank lines and spaces do not count.
//
// The table has entries that begin at the margin, and their steps, indented:
//
//	taker.pml complete: shard/header.go Table.help
//		m = meta[s]  <=>  m := s.load()
//	taker.pml done: none, the call is over
//
// A part is a proctype (up to its first label), an inline, a label or a macro of the
// model. Code is a function, a method with its type, another declaration, all of whose
// group counts, or in a Lua file a local function or the operation that is told by op.
// A part may have several entries, and code may stand in several. The steps of an entry
// come in their order in the part, and in the code; where the two orders differ, there are
// two entries. What a model does only with a bug seeded is left out. Lines that begin with
// # are comments.
package correspond
