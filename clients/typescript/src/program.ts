import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { MiniapiError } from "./error.js";

const executable = process.platform === "win32" ? "miniapi.exe" : "miniapi";
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

/**
 * Returns the path of the miniapi program: that of `$MINIAPI`, else the program of this version in the user's cache
 * folder, where the Go fixture puts it, else the one on the PATH, else the one of the npm package for this platform.
 */
export function findProgram(env: NodeJS.ProcessEnv = process.env): string {
  if (env.MINIAPI) {
    if (!isFile(env.MINIAPI)) {
      throw new MiniapiError(`$MINIAPI is ${env.MINIAPI}, which is no file: it must be the path of a miniapi program`);
    }
    return resolve(env.MINIAPI);
  }
  const cached = join(cacheFolder(env), "miniapi", "fixture", `v${version}`, executable);
  const onPath = (env.PATH ?? "").split(delimiter).filter(isAbsolute);
  const platform = `@miniapi-dev/miniapi-${process.platform}-${process.arch}`;
  const places = [
    cached,
    ...onPath.map((folder) => join(folder, executable)),
    fromPackage(`${platform}/${executable}`),
  ];
  const found = places.find(isFile);
  if (found === undefined) {
    throw new MiniapiError(
      `there is no miniapi program: ${cached} doesn't exist, the PATH has no ${executable}, and the package ${platform} isn't installed; ` +
        "set $MINIAPI to the path of a miniapi program, or install a release of miniapi",
    );
  }
  return found;
}

/** Returns the user's cache folder, as Go's os.UserCacheDir does. */
function cacheFolder(env: NodeJS.ProcessEnv): string {
  switch (process.platform) {
    case "win32":
      return env.LocalAppData ?? join(homedir(), "AppData", "Local");
    case "darwin":
      return join(homedir(), "Library", "Caches");
    default:
      return env.XDG_CACHE_HOME || join(homedir(), ".cache");
  }
}

/** Returns the path of a file of another package, or "" if the package isn't installed. */
function fromPackage(file: string): string {
  try {
    return createRequire(import.meta.url).resolve(file);
  } catch {
    return "";
  }
}

/** Reports whether the path is that of a file, in folders that the user can read. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
