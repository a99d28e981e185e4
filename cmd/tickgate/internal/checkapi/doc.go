// Package checkapi asks a gate over HTTP, for programs that cannot link it:
//
//	POST /v1/take
//	{"apikey":"desk-7","endpoint":"order.new","n":1}
//
//	{"allowed":false,"reason":"limited","limit":"100/s","remaining":0,"retry_after_ns":9500000,"reset_after_ns":1000000000}
//
// and of many keys at once, each decided on its own, in order:
//
//	{"requests":[{"apikey":"desk-7","endpoint":"order.new"},{"apikey":"desk-8","endpoint":"order.new","n":2}]}
//
//	{"decisions":[{"allowed":true,…},{"allowed":false,…}]}
//
// A denial is an answer, and has status 200; other statuses say that there is none. n is
// 1 unless given, and 0 looks without taking. retry_after_ns is left out where the request
// passed; where it never will, never is true instead.
//
// Whoever may ask, may ask for every key: it is for the operator's own programs, on a
// port of its own.
package checkapi
