// Package policyfile reads policy sets from files: JSON, or a subset of YAML that
// means the same.
//
//	# trading.yaml
//	- endpoint: order.new
//	  limits: [4/s burst=3 name=burst, 60/m burst=10 name=pace]
//	- endpoint: default
//	  limits: [10/s]
//
// Every fault of a file is reported at once, with its line and column. YAML here is
// mappings, sequences, strings, whole numbers, true, false and null: anchors, merge
// keys, tags and further documents are errors, so that a policy says what it means
// where it says it. Only regular files are read, and no more than policy.MaxBytes.
//
// All functions are safe for concurrent use.
package policyfile
