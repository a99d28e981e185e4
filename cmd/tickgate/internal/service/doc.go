// Package service puts the parts of a rate limit service together: one gate whose
// policies are followed while it runs, shared through Redis or not, the record of what
// it denied and of what was changed, the admin port that shows them, and the order in
// which all of it begins, is read again and ends.
package service
