import type { ExternalCredential } from "@signet/kernel/identity/provider-ports"

/** The proof that a person presents to sign in or to link an account. */
export type Proof =
  | {
      readonly is: "external"
      readonly credential: ExternalCredential
      readonly nonce: string
      /** Empty if the app made the nonce. */
      readonly transaction: string
      readonly deviceId: string
    }
  | { readonly is: "session"; readonly accessToken: string }
  | { readonly is: "password"; readonly email: string; readonly password: string }
  | { readonly is: "magicLink"; readonly tokenHash: string; readonly codeVerifier: string }
