// The secrets and keys of a service account.
import { readFileSync } from "node:fs"
import { toJson } from "@bufbuild/protobuf"
import { durationFromMs } from "@bufbuild/protobuf/wkt"
import {
  ServiceAccountService,
  type ServiceSecret,
  ServiceSecretSchema,
} from "@signet/proto/auth/v1/service_account_service"
import { Command, Option } from "commander"
import { callAs } from "../api.ts"
import { type Cli, examples, note, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { usage } from "../failure.ts"
import { parseCount } from "../lists.ts"
import { timeText } from "../shape.ts"

const calls = ServiceAccountService.method
const accountArgument = ["<account>", "Its id: sac_…"] as const

export function secretOf(cli: Cli, run: Run): Command {
  const days = () =>
    new Option("--days <n>", "Days until it expires, at most 365. Default: 180.").argParser((text) =>
      parseCount(text, 365),
    )
  const printSecret = (answer: { secret: string; serviceSecret?: ServiceSecret | undefined }) => {
    const kept = answer.serviceSecret
    show(cli, { secret: answer.secret, serviceSecret: kept && toJson(ServiceSecretSchema, kept) }, () => answer.secret)
    note(cli, `It expires on ${timeText(kept?.expiresAt)} and is not shown again.`)
    return 0
  }
  const add = examples(
    new Command("add")
      .description("Add a secret, shown only now. An account has at most two.")
      .argument(...accountArgument)
      .addOption(days())
      .action(
        run((serviceAccountId: string, options: { days?: number }) =>
          callAs(cli, calls.addSecret, { serviceAccountId, expiresInDays: options.days ?? 0 }, (_, answer) =>
            printSecret(answer),
          ),
        ),
      ),
    ["signet service-account secret add sac_06enrrq000edm6xx1hjq8s9c9g"],
  )
  const rotate = examples(
    new Command("rotate")
      .description("Replace the secret. The new one is shown only now; the old one stays valid for the overlap.")
      .argument(...accountArgument)
      .addOption(days())
      .option(
        "--overlap <hours>",
        "Hours for which the old one stays valid, at most 168; 0 revokes it at once.",
        parseHours,
        24,
      )
      .action(
        run((serviceAccountId: string, options: { days?: number; overlap: number }) => {
          const overlap = durationFromMs(options.overlap * 3_600_000)
          const request = { serviceAccountId, expiresInDays: options.days ?? 0, overlap }
          return callAs(cli, calls.rotateSecret, request, (_, answer) => printSecret(answer))
        }),
      ),
    ["signet service-account secret rotate sac_06enrrq000edm6xx1hjq8s9c9g --overlap 2"],
  )
  const revoke = examples(
    new Command("revoke")
      .description("Revoke a secret at once, and the tokens obtained with it.")
      .argument(...accountArgument)
      .argument("<secret>", "Its id: scr_…")
      .action(
        run((serviceAccountId: string, secretId: string) =>
          callAs(cli, calls.revokeSecret, { serviceAccountId, secretId }, () => {
            show(cli, { id: secretId, status: "REVOKED" }, () => `${secretId} is revoked.`)
            return 0
          }),
        ),
      ),
    ["signet service-account secret revoke sac_06enrrq000edm6xx1hjq8s9c9g scr_06enrrq000edm6xx1hjq8s9c9g"],
  )
  return new Command("secret")
    .description("The secrets of a service account.")
    .addCommand(add)
    .addCommand(rotate)
    .addCommand(revoke)
}

function parseHours(text: string): number {
  return text === "0" ? 0 : parseCount(text, 168)
}

export function keyOf(cli: Cli, run: Run): Command {
  const add = examples(
    new Command("add")
      .description("Register the public half of a key for private_key_jwt.")
      .argument(...accountArgument)
      .requiredOption("--jwk <file>", "File with a public P-256 JWK. A private one is rejected and not sent.")
      .action(
        run(async (serviceAccountId: string, { jwk }: { jwk: string }) =>
          callAs(cli, calls.addKey, { serviceAccountId, ...readPublicJwk(jwk) }, (_, { serviceKey }) => {
            show(cli, { kid: serviceKey?.kid }, () => serviceKey?.kid ?? "")
            return 0
          }),
        ),
      ),
    ["signet service-account key add sac_06enrrq000edm6xx1hjq8s9c9g --jwk public.jwk"],
  )
  const revoke = examples(
    new Command("revoke")
      .description("Revoke a key at once, and the tokens obtained with it.")
      .argument(...accountArgument)
      // A key id may start with a dash.
      .allowUnknownOption()
      .argument("<kid>", "Thumbprint of the key (kid).")
      .action(
        run((serviceAccountId: string, kid: string) =>
          callAs(cli, calls.revokeKey, { serviceAccountId, kid }, () => {
            show(cli, { kid, status: "REVOKED" }, () => `${kid} is revoked.`)
            return 0
          }),
        ),
      ),
    ["signet service-account key revoke sac_06enrrq000edm6xx1hjq8s9c9g NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"],
  )
  return new Command("key").description("The keys of a service account.").addCommand(add).addCommand(revoke)
}

function readPublicJwk(file: string): { x: string; y: string } {
  const json: unknown = JSON.parse(readFileSync(file, "utf8"))
  if (typeof json !== "object" || json === null) throw usage(`${file} is not a JWK`)
  if ("d" in json) throw usage(`${file} has a private key: register only the public key`)
  const isPoint = "crv" in json && json.crv === "P-256" && "x" in json && "y" in json
  if (!isPoint || typeof json.x !== "string" || typeof json.y !== "string") throw usage(`${file} is not a P-256 key`)
  return { x: json.x, y: json.y }
}
