import { expect, test } from "vitest"
import { defaultLimits } from "./policy.ts"
import { parseLimits } from "./settings.ts"

test("only the given numbers change", () => {
  const text = `{"windows": {"refresh": {"ip": {"limit": 500}}}, "lockouts": {"client": {"mostLockSeconds": 3600}}}`
  expect(parseLimits(text)).toEqual({
    windows: {
      ...defaultLimits.windows,
      refresh: { ...defaultLimits.windows.refresh, ip: { limit: 500, seconds: 60 } },
    },
    lockouts: {
      ...defaultLimits.lockouts,
      client: { ...defaultLimits.lockouts.client, mostLockSeconds: 3_600 },
    },
  })
  expect(parseLimits("{}")).toEqual(defaultLimits)
})

test.each([
  ["nope", "it is not JSON."],
  ["[]", "it must be an object."],
  [`{"windows": 3}`, "windows must be an object."],
  [`{"windows": {"nope": {}}}`, "windows.nope is not a limit."],
  [`{"windows": {"__proto__": {}}}`, "windows.__proto__ is not a limit."],
  [`{"windows": {"refresh": {"ip": {"burst": 1}}}}`, "windows.refresh.ip.burst is not a limit."],
  [`{"windows": {"refresh": {"ip": {"limit": 0}}}}`, "windows.refresh.ip.limit must be an integer from 1 to 1000000."],
  [
    `{"windows": {"refresh": {"ip": {"limit": "9"}}}}`,
    "windows.refresh.ip.limit must be an integer from 1 to 1000000.",
  ],
  [`{"windows": {"pat": {"pat": {"seconds": 1.5}}}}`, "windows.pat.pat.seconds must be an integer from 1 to 86400."],
  [
    `{"windows": {"refresh": {"ip": {"limit": 1000001}}}}`,
    "windows.refresh.ip.limit must be an integer from 1 to 1000000.",
  ],
  [`{"windows": {"pat": {"pat": null}}}`, "windows.pat.pat must be an object."],
  [`{"lockouts": {"client": {"lockSeconds": 90}}}`, "lockouts.client.mostLockSeconds is less than its lockSeconds."],
])("the setting %s is refused: %s", (text, problem) => {
  expect(parseLimits(text)).toEqual({ problems: [problem] })
})
