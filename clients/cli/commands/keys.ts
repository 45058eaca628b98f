import { Argument, Command } from "commander"
import { type Cli, examples, profileOf, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { CommandError, exitCodes, usage } from "../failure.ts"
import { runServerProgram } from "../server-program.ts"
import { formatTable } from "../table.ts"

const tokenPurposes = ["ACCESS", "STATEMENT", "CONTEXT"]
const issuerPurposes = ["CREDENTIAL", "PROOF", "LIST", "RECEIPT"]

export function keysCommand(cli: Cli, run: Run): Command {
  const json = () => (cli.options.json ? ["--json"] : [])
  const admin = async (args: readonly string[], data?: string) =>
    (await runServerProgram(cli, "admin", { args, settings: { SIGNET_DATA: data } })).code
  const list = examples(
    new Command("list")
      .alias("ls")
      .description("List token signing keys and their states, on the server's own machine.")
      .option("--published", "Instead, what the profile's server publishes: from anywhere, without a sign-in.")
      .option("--data <folder>", "The folder of the development profile: SIGNET_DATA.")
      .action(
        run(({ published, data }: { published?: boolean; data?: string }) =>
          published ? listPublished(cli) : admin(["keys", "tokens", "list", ...json()], data),
        ),
      ),
    ["signet keys list", "signet keys list --published"],
  )
  const rotate = examples(
    new Command("rotate")
      .description(
        "Take a new signing key into use, on the server's own machine. Running servers follow within seconds.",
      )
      .addArgument(
        new Argument(
          "[purpose]",
          "What it signs; ACCESS signs access tokens. The last four are of messaging, and sign once a signed key set names them.",
        )
          .choices([...tokenPurposes, ...issuerPurposes])
          .default("ACCESS"),
      )
      .option(
        "--early",
        "Also a key that was published for less than 24 hours: verifiers ask for it when they meet it.",
      )
      .option("--data <folder>", "The folder of the development profile: SIGNET_DATA.")
      .action(
        run((purpose: string, { early = false, data }: { early?: boolean; data?: string }) => {
          const isToken = tokenPurposes.includes(purpose)
          if (early && !isToken) throw usage("--early is for ACCESS, STATEMENT and CONTEXT")
          const args = ["keys", isToken ? "tokens" : "issuer", "rotate", purpose]
          return admin([...args, ...(early ? ["--early"] : []), ...json()], data)
        }),
      ),
    ["signet keys rotate", "signet keys rotate ACCESS --early", "signet keys rotate PROOF"],
  )
  const compromise = examples(
    new Command("compromise")
      .description("Take a token signing key out of use at once: what it signed is no good any more.")
      // An id of a key may begin with a dash.
      .allowUnknownOption()
      .argument("<kid>", "The key, as tokens and /.well-known/jwks.json name it.")
      .option("--data <folder>", "The folder of the development profile: SIGNET_DATA.")
      .action(
        run((kid: string, { data }: { data?: string }) =>
          admin(["keys", "tokens", "compromise", kid, ...json()], data),
        ),
      ),
    ["signet keys compromise NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"],
  )
  return new Command("keys")
    .description("The keys that the server signs with.")
    .addCommand(list)
    .addCommand(rotate)
    .addCommand(compromise)
}

/** The JWK set that access tokens are verified with. */
async function listPublished(cli: Cli): Promise<number> {
  const { server } = profileOf(cli)
  const answer = await cli
    .fetch(`${server}/.well-known/jwks.json`, { signal: AbortSignal.timeout(20_000) })
    .catch((cause: unknown) => {
      throw new CommandError("UNREACHABLE", exitCodes.unavailable, `${server} does not answer`, { cause })
    })
  if (!answer.ok) throw new CommandError("FAULT", exitCodes.fault, `${server} answers ${answer.status} for its keys`)
  const keys = keysIn(await answer.json())
  show(cli, keys, () =>
    formatTable(
      cli.terminal,
      ["KID", "ALG", "USE"],
      keys.map(({ kid, alg, use }) => [kid, alg, use]),
    ),
  )
  return 0
}

function keysIn(json: unknown): readonly { kid: string; alg: string; use: string }[] {
  const keys = typeof json === "object" && json !== null && "keys" in json ? json.keys : undefined
  if (!Array.isArray(keys)) throw new CommandError("FAULT", exitCodes.fault, "the server's answer is no JWK set")
  return keys.map((key: unknown) => {
    const { kid, alg, use }: Record<string, unknown> = { ...Object(key) }
    return { kid: String(kid), alg: String(alg), use: String(use) }
  })
}
