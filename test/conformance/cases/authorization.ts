import assert from "node:assert/strict"
import { getOption } from "@bufbuild/protobuf"
import { requires } from "@signet/proto/authz/v1/requirement"
import { asDevice, deviceCheckOf, proofHeader } from "../../support/messaging/calls.ts"
import { callSample, type Method, methods } from "../../support/messaging/samples.ts"
import { restProtocol } from "../protocols.ts"
import * as scene from "../scene.ts"
import { refusal } from "../scene.ts"

const isPublic = (method: Method) => getOption(method, requires).check.case === "public"

/** Calls the methods, and returns the reason of each refusal. */
async function refusedEach(
  of: scene.Scene,
  which: (method: Method) => boolean,
  call: (method: Method) => Promise<void>,
) {
  const told: Record<string, string> = {}
  for (const method of methods) {
    if (isPublic(method) || !which(method)) continue
    if (of.protocol === restProtocol && method.methodKind !== "unary") continue
    told[method.name] = (await refusal(call(method))).reason
  }
  assert(Object.keys(told).length > 0)
  return told
}

const allAre = (told: Record<string, string>, expected: string) =>
  assert.deepEqual(told, Object.fromEntries(Object.keys(told).map((name) => [name, expected])))

export const cases = scene.cases("authorization", {
  async "every call requires a token"(of) {
    allAre(
      await refusedEach(
        of,
        () => true,
        (method) => callSample(of.transport, method),
      ),
      "NO_CREDENTIAL",
    )
  },
  async "a token with a wrong signature is refused by every call"(of) {
    const token = (await of.unregistered()).credentials.token ?? ""
    const header = { authorization: `Bearer ${token.slice(0, -4)}AAAA` }
    allAre(
      await refusedEach(
        of,
        () => true,
        (method) => callSample(of.transport, method, header),
      ),
      "SIGNATURE_INVALID",
    )
  },
  async "a token without a device is refused where one is required"(of) {
    const { credentials } = await of.unregistered()
    const transport = asDevice(of.transport, credentials)
    const told = await refusedEach(
      of,
      (method) => deviceCheckOf(method) !== "none",
      (method) => callSample(transport, method),
    )
    allAre(told, "DEVICE_REQUIRED")
  },
  async "a call without its proof is refused where one is required"(of) {
    const { credentials } = await of.device({ keyPackages: 0 })
    const transport = asDevice(of.transport, credentials)
    const told = await refusedEach(
      of,
      (method) => deviceCheckOf(method) === "proof",
      (method) => callSample(transport, method, { [proofHeader]: "" }),
    )
    allAre(told, "PROOF_OF_POSSESSION_REQUIRED")
  },
  async "a revoked device is refused by every call that requires a device"(of) {
    const one = await of.device({ keyPackages: 0 })
    const second = await of.device({ of: one, keyPackages: 0 })
    await one.calls.devices.revokeDevice({ deviceId: second.id })
    const transport = asDevice(of.transport, second.credentials)
    const told = await refusedEach(
      of,
      (method) => deviceCheckOf(method) !== "none",
      (method) => callSample(transport, method),
    )
    const reasons = new Set(Object.values(told))
    assert(
      [...reasons].every((reason) => ["DEVICE_REVOKED", "SESSION_REVOKED"].includes(reason)),
      [...reasons].join(),
    )
  },
  async "an unknown resource is answered like another user's"(of) {
    const one = await of.device({ keyPackages: 0 })
    const transport = asDevice(of.transport, one.credentials)
    const named = (method: Method) =>
      method.input.fields.some(({ localName }) => ["conversationId", "attachmentId"].includes(localName))
    allAre(await refusedEach(of, named, (method) => callSample(transport, method)), "RESOURCE_UNRESOLVED")
  },
})
