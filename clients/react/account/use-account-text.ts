import { useText } from "../provider.tsx"
import { type AccountText, englishAccount } from "./text.ts"

export const useAccountText = (): AccountText => useText().account ?? englishAccount
