package idem

// RaceEnabled is for the tests outside the package.
const RaceEnabled = raceEnabled
