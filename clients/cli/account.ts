// The profile's sign-in, as the source of tokens.
import { createClient, type Interceptor, type Transport } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"
import type { Signet } from "@signet/client-node"
import { PatService } from "@signet/proto/auth/v1/pat_service"
import type { Cli, NamedProfile } from "./cli.ts"
import { type CredentialStore, openCredentialStore } from "./credential-store.ts"
import { CommandError, exitCodes } from "./failure.ts"
import { issuerOf } from "./profiles.ts"
import { openSignet } from "./signet.ts"

export interface Account extends AsyncDisposable {
  readonly profile: NamedProfile
  readonly is: "session" | "pat"
  /** An access token for one audience. */
  accessToken(audience?: string): Promise<AccessToken>
  /** A transport to the server with the token for an audience, by default the auth service's. */
  transport(audience?: string): Promise<Transport>
  /** The facts that the guard of a tool needs. */
  authentication(audience?: string): Promise<Authentication>
  /** Deletes the stored sign-in. Ends its session at the service first; a personal access token is only deleted. */
  signOut(): Promise<{ readonly endedAtService: boolean }>
}

export interface Authentication {
  readonly issuer: string
  /** The URL of its keys. */
  readonly server: string
  readonly audience: string
  readonly token: string
}

export interface AccessToken {
  readonly token: string
  readonly audience: string
  readonly scopes?: readonly string[]
  readonly expiresInSeconds?: number
}

const authAudienceOf = ({ authAudience }: NamedProfile): string => authAudience ?? "auth"

const addressesOf = (profile: NamedProfile) => ({ issuer: issuerOf(profile), server: profile.server })

/** @throws CommandError NOT_SIGNED_IN */
export async function openAccount(cli: Cli, profile: NamedProfile): Promise<Account> {
  if (cli.env.SIGNET_PAT) return patAccount(cli, profile, async () => cli.env.SIGNET_PAT, undefined)
  switch (profile.signIn) {
    case "session":
      return sessionAccount(profile, await openSignet(cli, profile))
    case "pat": {
      const credentials = await openCredentialStore(cli, profile)
      return patAccount(cli, profile, () => credentials.read("pat"), credentials)
    }
    case undefined:
      throw notSignedIn(profile)
  }
}

export const notSignedIn = ({ name, server }: NamedProfile): CommandError =>
  new CommandError("NOT_SIGNED_IN", exitCodes.unauthenticated, `you are not signed in to ${server} (profile ${name})`, {
    hint: "Sign in: signet login",
  })

/** A transport over HTTP/1.1 without a token. */
export function publicTransport({ server }: Pick<NamedProfile, "server">, interceptors: Interceptor[] = []): Transport {
  return createConnectTransport({ baseUrl: server, httpVersion: "1.1", interceptors })
}

function sessionAccount(profile: NamedProfile, signet: Signet): Account {
  const { session } = signet
  const audience = authAudienceOf(profile)
  return {
    profile,
    is: "session",
    accessToken: async (of = audience) => ({ token: await session.accessToken(of), audience: of }),
    transport: async (of = audience) => session.transport({ audience: of }),
    authentication: async (of = audience) => ({
      ...addressesOf(profile),
      audience: of,
      token: await session.accessToken(of),
    }),
    signOut: () => session.logout(),
    async [Symbol.asyncDispose]() {
      signet.close()
    },
  }
}

function patAccount(
  cli: Cli,
  profile: NamedProfile,
  read: () => Promise<string | undefined>,
  credentials: CredentialStore | undefined,
): Account {
  const audience = authAudienceOf(profile)
  const exchanged = new Map<string, Promise<AccessToken>>()
  async function exchange(of: string): Promise<AccessToken> {
    const pat = await read()
    if (pat === undefined) throw notSignedIn(profile)
    const client = createClient(PatService, publicTransport(profile))
    const { accessToken, scopes, expiresIn } = await cli.terminal.during(
      "signing in …",
      client.exchangePat({ pat, audience: of }, { timeoutMs: 20_000 }),
    )
    return { token: accessToken, audience: of, scopes, expiresInSeconds: expiresIn }
  }
  const accessToken = (of = audience) => {
    const known = exchanged.get(of) ?? exchange(of)
    exchanged.set(of, known)
    return known
  }
  return {
    profile,
    is: "pat",
    accessToken,
    async transport(of = audience) {
      const { token } = await accessToken(of)
      return publicTransport(profile, [
        (next) => (request) => {
          request.header.set("authorization", `Bearer ${token}`)
          return next(request)
        },
      ])
    },
    authentication: async (of = audience) => ({
      ...addressesOf(profile),
      audience: of,
      token: (await accessToken(of)).token,
    }),
    async signOut() {
      await credentials?.remove("pat")
      return { endedAtService: false }
    },
    async [Symbol.asyncDispose]() {},
  }
}
