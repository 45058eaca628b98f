import { join } from "node:path"
import { create, toJsonString } from "@bufbuild/protobuf"
import { ExternalLoginRequestSchema } from "@signet/proto/auth/v1/auth_service"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Seen, Visit } from "../interop/browser/page.ts"
import { chromiumMissing, launchChromium, servePage } from "../support/chromium.ts"
import { effort } from "../support/effort.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

declare const visit: (visit: Visit) => Promise<Seen>

const title = `a page in Chromium${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`

const protocols = (["connect", "grpc-web", "connect-binary"] as const).slice(0, effort(1, 3, 3))

describe.skipIf(chromiumMissing !== undefined)(title, () => {
  let page: Awaited<ReturnType<typeof servePage>>
  let stranger: Awaited<ReturnType<typeof servePage>>
  let server: TestServer
  let browser: Browser
  beforeAll(async () => {
    const entry = join(import.meta.dirname, "../interop/browser/page.ts")
    page = await servePage(entry)
    stranger = await servePage(entry)
    server = await startTestServer({ store: storyStore, settings: { allowedOrigins: [page.origin] } })
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
    page?.close()
    stranger?.close()
  })

  /** As text, because a page accepts only values that can be cloned. */
  const loginJson = async (subject: string): Promise<string> =>
    toJsonString(
      ExternalLoginRequestSchema,
      create(ExternalLoginRequestSchema, { ...(await server.login(subject)), cookieMode: true }),
    )

  test.each(protocols)("signs in with a cookie that it cannot read, over %s", async (protocol) => {
    const tab = await browser.newPage()
    await tab.goto(page.origin)
    const seen = await tab.evaluate((argument) => visit(argument), {
      protocol,
      baseUrl: server.url,
      login: await loginJson(protocol),
    })
    expect(seen).toEqual({
      principal: expect.stringMatching(/^prn_/),
      sessions: 1,
      anonymous: "Unauthenticated NO_CREDENTIAL",
      cookieVisible: false,
      refreshTokenInBody: false,
      refreshed: true,
      loggedOut: "no error",
      afterLogout: "Unauthenticated SESSION_REVOKED",
    })
    await tab.close()
  })

  test("of another origin gets no answer", async () => {
    const tab = await browser.newPage()
    await tab.goto(stranger.origin)
    const argument: Visit = { protocol: "connect", baseUrl: server.url, login: await loginJson("stranger") }
    await expect(tab.evaluate((given) => visit(given), argument)).rejects.toThrow(/Failed to fetch/)
    await tab.close()
  })
})
