import { expect, test } from "vitest"
import { placeOf } from "./place-of.ts"

test.each([
  ["an address", "ada+notes@example.com", "/people?find=ada%2Bnotes%40example.com"],
  ["a subject", "auth0|5f7c&by=email", "/people?find=auth0%7C5f7c%26by%3Demail"],
  ["a principal", "prn_1", "/people/prn_1"],
  ["an app", "app_1", "/apps/app_1"],
  ["a service account", "sac_1", "/services/sac_1"],
  ["a tenant", "ten_1", "/tenants/ten_1"],
  ["an event", "aud_1", "/audit?target=aud_1"],
  ["a token", "jti_1", "/audit?target=jti_1"],
  ["a session", "ses_1", "/audit?target=ses_1"],
  ["a device", "dev_1", "/audit?target=dev_1"],
  ["an id with the path of another screen", "prn_../../keys", "/people/prn_..%2F..%2Fkeys"],
  ["a prefix that names no kind", "jti", "/people?find=jti"],
])("the search box opens %s", (_, asked, place) => {
  expect(placeOf(asked)).toBe(place)
})
