import { hostname, platform, release } from "node:os"
import { configure, type Signet } from "@signet/client-node"
import type { Cli, NamedProfile } from "./cli.ts"
import { folderOf, openBox } from "./credential-store.ts"
import { usage } from "./failure.ts"

/** The identity client of a profile. */
export async function openSignet(cli: Cli, profile: NamedProfile): Promise<Signet> {
  const { appId, server, authAudience, platform: of } = profile
  if (appId === undefined) throw usage("--app is required", "See: signet login --help")
  const box = await openBox(cli, profile)
  // Reports a problem of the store before the client reports that nobody is signed in.
  await box.createKey({ app: appId })
  return configure({
    folder: folderOf(cli, profile),
    box,
    appId,
    authBaseUrl: server,
    providers: ["IDP_A", "EMAIL_PASSWORD"],
    platform: of ?? "WEB",
    device: { label: `signet on ${hostname()}`.slice(0, 128), os: `${platform()} ${release()}`.slice(0, 64) },
    ...(authAudience && { authAudience }),
  })
}
