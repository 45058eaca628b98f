import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { Device_Status, DeviceSchema } from "@signet/proto/messaging/v1/records"
import { Command } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { confirm, withYes } from "../confirm.ts"
import { limitOption } from "../lists.ts"
import { inTenant, type PlaceOptions, placeOf } from "../place.ts"
import { listAll, type View } from "../records.ts"
import { timeText } from "../shape.ts"

const { listUserDevices, revokeUserDevices } = DeviceService.method

const person = "prn_06enrrq000edm6xx1hjq8s9c9g"
const device = "dev_06enrrq000edm6xx1hjq8s9c9g"

interface Options extends PlaceOptions {
  readonly principal: string
  readonly audience?: string
}

export function deviceCommand(cli: Cli, run: Run): Command {
  const ofPerson = (command: Command) =>
    inTenant(command)
      .requiredOption("--principal <id>", "The person: prn_…")
      .option("--audience <name>", "Audience of messaging. Default: the auth service.")
  const list = examples(
    ofPerson(new Command("list"))
      .alias("ls")
      .description("List a person's messaging devices, newest first, where you administer.")
      .addOption(limitOption())
      .action(run((options: Options & { limit: number }) => listOf(cli, options))),
    [`signet device list --principal ${person}`],
  )
  const revoke = examples(
    withYes(ofPerson(new Command("revoke")))
      .description("Revoke one or all messaging devices of a person permanently, where you administer.")
      .argument("[device]", "Its id: dev_…")
      .action(run((id: string | undefined, options: Options & { yes?: boolean }) => endOf(cli, id, options))),
    [`signet device revoke ${device} --principal ${person}`, `signet device revoke --principal ${person} --yes`],
  )
  return new Command("device")
    .description("List and revoke people's messaging devices.")
    .addCommand(list)
    .addCommand(revoke)
}

async function listOf(cli: Cli, { principal: userId, audience, limit, ...options }: Options & { limit: number }) {
  const { tenantId } = await placeOf(cli, options)
  return listAll(cli, listUserDevices, limit, {
    view,
    ...(audience !== undefined && { audience }),
    request: (page) => ({ userId, tenantId, ...page }),
    items: ({ devices }) => devices,
    next: ({ nextPageToken }) => nextPageToken,
  })
}

async function endOf(cli: Cli, id: string | undefined, options: Options & { yes?: boolean }): Promise<number> {
  const { principal: userId, audience, yes } = options
  const { appId, tenantId } = await placeOf(cli, options)
  const what = id ?? `all messaging devices of ${userId} in ${tenantId || appId}`
  await confirm(cli, yes, `${what}: revoked permanently, and removed from every conversation.`)
  const request = { userId, tenantId, deviceIds: id === undefined ? [] : [id] }
  const told = (_: unknown, { revokedDevices }: { revokedDevices: number }) => {
    show(cli, { revokedDevices }, () => `Revoked ${revokedDevices} devices.`)
    return 0
  }
  return callAs(cli, revokeUserDevices, request, told, audience)
}

const view: View<typeof DeviceSchema> = {
  schema: DeviceSchema,
  fields: [
    ["id", ({ id }) => id],
    ["platform", ({ platform }) => platform],
    ["status", ({ status }) => (status === Device_Status.REVOKED ? "REVOKED" : "ACTIVE")],
    ["registered", ({ createdAt }) => timeText(createdAt)],
    ["revoked", ({ revokedAt }) => timeText(revokedAt)],
  ],
}
