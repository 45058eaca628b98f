import { create } from "@bufbuild/protobuf"
import { createContextValues, createHandlerContext } from "@connectrpc/connect"
import type { Reason } from "@signet/kernel/errors"
import { TokenService } from "@signet/proto/auth/v1/token_service"
import { expect, test } from "vitest"
import type { TokenDeps } from "./deps.ts"
import { revoke } from "./revoke.ts"

const { revoke: method } = TokenService.method

/** Revokes a token for which the verifiers of access tokens and of context tokens return these reasons. */
async function revokeWith(access: Reason, context: Reason): Promise<string> {
  const store = { transaction: (work: (tx: object) => unknown) => Promise.resolve(work({})) }
  const deps = { limiter: null, store, verify: async () => access } as unknown as TokenDeps
  const call = createHandlerContext({
    service: TokenService,
    method,
    requestMethod: "POST",
    protocolName: "grpc",
    url: "http://localhost/",
    contextValues: createContextValues(),
  })
  try {
    await revoke(deps, async () => context, call, create(method.input, { token: "a.b.c" }))
    return "done"
  } catch (error) {
    return (error as { reason: string }).reason
  }
}

// After an answer of success a client takes the token for revoked (RFC 7009 section 2.2.1).
test.each(["UNAVAILABLE", "INTERNAL"] as const)(
  "a token that nobody can verify now is not reported as revoked: %s",
  async (reason) => {
    expect(await revokeWith(reason, "TYP_NOT_ALLOWED")).toBe(reason)
    expect(await revokeWith("TYP_NOT_ALLOWED", reason)).toBe(reason)
  },
)

test("an invalid token is no error", async () => {
  expect(await revokeWith("SIGNATURE_INVALID", "TYP_NOT_ALLOWED")).toBe("done")
  expect(await revokeWith("TYP_NOT_ALLOWED", "TOKEN_EXPIRED")).toBe("done")
})
