/** An object with some of its methods replaced for a while. */
export function replacing<T extends object>(target: T, methods: () => Partial<T>): T {
  return new Proxy(target, {
    get: (_, name) => {
      const member: unknown = Reflect.get(methods(), name) ?? Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
