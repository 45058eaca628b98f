// Attachments: made, uploaded in parts, downloaded, erased.
import { createHash } from "node:crypto"
import { randomBytes } from "../../support/messaging/device-parts.ts"
import { anyRoom, type Step } from "../side.ts"

const sha256 = (bytes: Uint8Array) => new Uint8Array(createHash("sha256").update(bytes).digest())
const partSize = 1_048_576

const make: Step = async (act) => {
  const { side, rng } = act
  const found = anyRoom(act)
  if (found === undefined) return
  const device = rng.chance(0.9) ? found.device : rng.pick(side.devices)
  const bytes = randomBytes(1 + rng.below(rng.chance(0.05) ? partSize + 2_000 : 3_000))
  const request = {
    conversationId: found.room.id,
    size: rng.chance(0.95) ? BigInt(bytes.length) : rng.pick([0n, 104_857_601n]),
    sha256: rng.chance(0.9) ? sha256(bytes) : randomBytes(32),
    idempotencyKey: randomBytes(16),
  }
  const call = () => device.calls.attachments.createAttachment(request)
  const answer = await act.see("createAttachment", call)
  side.again.push({ what: "createAttachment", call, by: device })
  if (rng.chance(0.2)) {
    await act.see("createAttachment, another with the key", () =>
      device.calls.attachments.createAttachment({ ...request, size: 7n }),
    )
  }
  const id = answer?.attachment?.id
  if (id !== undefined) side.attachments.push({ id, by: device, bytes })
}

const go: Step = async (act) => {
  const { side, rng } = act
  if (side.attachments.length === 0) return
  const { id: attachmentId, by, bytes } = rng.pick(side.attachments.slice(-8))
  const device = rng.chance(0.75) ? by : rng.pick(side.devices)
  const { attachments } = device.calls
  const index = rng.chance(0.9) ? rng.below(Math.ceil(bytes.length / partSize)) : rng.pick([1, 2, 99, 100])
  const part = bytes.subarray(index * partSize, (index + 1) * partSize)
  const data = rng.chance(0.9) ? part : rng.pick([part.subarray(1), randomBytes(part.length || 1), new Uint8Array()])
  switch (rng.below(7)) {
    case 0:
    case 1:
      await act.see("uploadPart", () => attachments.uploadPart({ attachmentId, index, data }))
      return
    case 2:
      await act.see("completeAttachment", () => attachments.completeAttachment({ attachmentId }))
      return
    case 3:
      await act.see("getAttachment", () => attachments.getAttachment({ attachmentId }))
      return
    case 4:
      await act.see("downloadPart", () => attachments.downloadPart({ attachmentId, index, acceptUrl: rng.chance(0.3) }))
      return
    case 5:
      await act.see("presignPart", () => attachments.presignPart({ attachmentId, index }))
      return
    default: {
      if (rng.chance(0.7)) return
      const call = () => attachments.deleteAttachment({ attachmentId })
      if ((await act.see("deleteAttachment", call)) === undefined) return
      // Again at once: later it depends on when it was forgotten.
      await act.see("deleteAttachment, again", call)
      await act.see("getAttachment, deleted", () => attachments.getAttachment({ attachmentId }))
      side.attachments.splice(0, side.attachments.length, ...side.attachments.filter(({ id }) => id !== attachmentId))
      side.again.splice(0, side.again.length, ...side.again.filter(({ what }) => what !== "createAttachment"))
    }
  }
}

export const attachments: Readonly<Record<string, readonly [number, Step]>> = {
  makeAttachment: [1.5, make],
  attachment: [6, go],
}
