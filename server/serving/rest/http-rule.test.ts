import { DelegationService } from "@signet/proto/auth/v1/delegation_service"
import { describe, expect, test } from "vitest"
import { bindingsOf, routeOf } from "./http-rule.ts"
import { requestMessage } from "./request-message.ts"

describe("a custom verb", () => {
  const [binding] = bindingsOf(DelegationService.method.revokeDelegation)
  const address = (path: string) => ({ path, query: "", header: () => null })

  test("ends the path and is no part of the variable", () => {
    if (binding === undefined) throw new Error("no binding")
    expect(routeOf(binding)).toBe("/auth/delegations/{delegation_id}:revoke")
    expect(requestMessage(binding, address("/auth/delegations/dlg_1:revoke"), undefined)).toMatchObject({
      delegationId: "dlg_1",
    })
    expect(requestMessage(binding, address("/auth/delegations/%3Arevoke:revoke"), undefined)).toMatchObject({
      delegationId: ":revoke",
    })
  })
})
