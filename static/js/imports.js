// The upload form: files and folders can be dropped anywhere on it or chosen, are listed, and are
// measured before they are sent. A browser sends names without folders, so the folders go along
// in a field of their own. Without this script the form works as any other.
const form = document.querySelector("[data-import-form]");
const input = form.querySelector('input[type="file"]');
const pathsField = form.querySelector("[data-paths]");
const chooseFolder = form.querySelector("[data-choose-folder]");
const chosen = form.querySelector("[data-chosen]");
const tooLarge = form.querySelector("[data-too-large]");
const submit = form.querySelector("[data-submit]");
const maxBytes = Number(form.dataset.maxBytes);
const maxFiles = Number(form.dataset.maxFiles);
const SHOWN = 30;
// What desktops put beside the files of a folder.
const LITTER = /^(\.DS_Store|Thumbs\.db|desktop\.ini|\._.*)$/;

function size(bytes) {
  if (bytes < 1024) return `${bytes} bytes`;
  const kilobytes = bytes / 1024;
  return kilobytes < 1024 ? `${kilobytes.toFixed(1)} KiB` : `${(kilobytes / 1024).toFixed(1)} MiB`;
}

function item(text) {
  const line = document.createElement("li");
  line.textContent = text;
  return line;
}

function show(paths) {
  const files = [...input.files];
  const names = paths ?? files.map((file) => file.webkitRelativePath || file.name);
  pathsField.value = names.some((name) => name.includes("/")) ? JSON.stringify(names) : "";
  const lines = files.slice(0, SHOWN).map((file, place) => item(`${names[place]}, ${size(file.size)}`));
  if (files.length > SHOWN) lines.push(item(`and ${files.length - SHOWN} more`));
  chosen.replaceChildren(...lines);
  const total = files.reduce((sum, file) => sum + file.size, 0);
  const refused = total > maxBytes || files.length > maxFiles;
  tooLarge.hidden = !refused;
  submit.disabled = refused;
}

function choose(found) {
  const kept = found.filter(([, file]) => !LITTER.test(file.name));
  kept.sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  const transfer = new DataTransfer();
  for (const [, file] of kept) transfer.items.add(file);
  input.files = transfer.files;
  show(kept.map(([path]) => path));
}

function readEntries(folder) {
  const reader = folder.createReader();
  return new Promise((resolve, reject) => {
    const all = [];
    // A reader hands out a folder in pieces, and an empty piece at its end.
    const next = () =>
      reader.readEntries((piece) => {
        if (!piece.length) resolve(all);
        else {
          all.push(...piece);
          next();
        }
      }, reject);
    next();
  });
}

async function filesOf(entry, folder = "") {
  const path = `${folder}${entry.name}`;
  if (entry.isFile) {
    return [[path, await new Promise((resolve, reject) => entry.file(resolve, reject))]];
  }
  const found = await Promise.all((await readEntries(entry)).map((inner) => filesOf(inner, `${path}/`)));
  return found.flat();
}

input.addEventListener("change", () => show());

const folderInput = document.createElement("input");
folderInput.type = "file";
if ("webkitdirectory" in folderInput) {
  folderInput.webkitdirectory = true;
  folderInput.hidden = true;
  form.after(folderInput); // outside of the form: it is never sent itself
  folderInput.dataset.folder = "";
  chooseFolder.hidden = false;
  chooseFolder.addEventListener("click", () => folderInput.click());
  folderInput.addEventListener("change", () => {
    choose([...folderInput.files].map((file) => [file.webkitRelativePath || file.name, file]));
  });
}

form.addEventListener("dragover", (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  form.classList.add("is-drop-target");
});
form.addEventListener("dragleave", (event) => {
  if (!form.contains(event.relatedTarget)) form.classList.remove("is-drop-target");
});
form.addEventListener("drop", async (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  form.classList.remove("is-drop-target");
  const entries = [...event.dataTransfer.items].map((dropped) => dropped.webkitGetAsEntry?.());
  if (entries.some((entry) => entry?.isDirectory)) {
    choose((await Promise.all(entries.filter(Boolean).map((entry) => filesOf(entry)))).flat());
  } else {
    input.files = event.dataTransfer.files;
    show();
  }
});
show();
