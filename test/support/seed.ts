// Vitest's set-up of every file: property tests draw the same cases in every run, so that what one change passes the next
// does not fail by chance. The nights hunt with seeds of their own, and a failure prints its seed.
import fc from "fast-check"

if (process.env.SIGNET_NIGHTLY !== "1") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_261_122 })
