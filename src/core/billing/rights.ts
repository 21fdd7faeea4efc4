/** The rights by which a request was admitted. */
export interface Rights {
  readonly policyVersion: bigint | undefined;
  /** Checks the rights as they are now. @throws the refusal of the request, if they do not suffice any more */
  renew(): Promise<Rights>;
}

/** Rights that no other program can change. */
export const fixedRights: Rights = { policyVersion: undefined, renew: async () => fixedRights };
