import type { WebSignet } from "@signet/client-web"
import { createContext, type ReactNode, useContext } from "react"
import { english, type Text } from "./text.ts"

interface Provided {
  readonly signet: WebSignet
  readonly text: Text
}

const Context = createContext<Provided | undefined>(undefined)

export interface SignetProviderProps {
  /** The client of `configure`. Create it once, outside of components. */
  readonly signet: WebSignet
  /** Every text of the components. Default: English. */
  readonly text?: Text
  readonly children: ReactNode
}

/** Gives the components below it the client and their texts. */
export function SignetProvider({ signet, text = english, children }: SignetProviderProps): ReactNode {
  return <Context value={{ signet, text }}>{children}</Context>
}

function useProvided(): Provided {
  const provided = useContext(Context)
  if (provided === undefined) throw new Error("a component of @signet/react needs a <SignetProvider> around it")
  return provided
}

/** Returns the identity client. @throws Error outside of a SignetProvider. */
export const useSignet = (): WebSignet => useProvided().signet

export const useText = (): Text => useProvided().text
