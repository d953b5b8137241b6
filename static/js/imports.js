// The upload form: files can be dropped anywhere on it, are listed, and are measured before they
// are sent. Without this script the form works as any other.
const form = document.querySelector("[data-import-form]");
const input = form.querySelector('input[type="file"]');
const chosen = form.querySelector("[data-chosen]");
const tooLarge = form.querySelector("[data-too-large]");
const submit = form.querySelector("[data-submit]");
const maxBytes = Number(form.dataset.maxBytes);

function size(bytes) {
  if (bytes < 1024) return `${bytes} bytes`;
  const kilobytes = bytes / 1024;
  return kilobytes < 1024 ? `${kilobytes.toFixed(1)} KB` : `${(kilobytes / 1024).toFixed(1)} MB`;
}

function show() {
  const files = [...input.files];
  chosen.replaceChildren(
    ...files.map((file) => {
      const item = document.createElement("li");
      item.textContent = `${file.name}, ${size(file.size)}`;
      return item;
    }),
  );
  const total = files.reduce((sum, file) => sum + file.size, 0);
  tooLarge.hidden = total <= maxBytes;
  submit.disabled = total > maxBytes;
}

input.addEventListener("change", show);
form.addEventListener("dragover", (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  form.classList.add("is-drop-target");
});
form.addEventListener("dragleave", (event) => {
  if (!form.contains(event.relatedTarget)) form.classList.remove("is-drop-target");
});
form.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  form.classList.remove("is-drop-target");
  input.files = event.dataTransfer.files;
  show();
});
show();
